"""What is fast, and by how much. Run with `make bench`; figures and commands are in README.md."""
