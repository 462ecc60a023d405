"""What `midfold doctor` looks at, a subject in each file."""
