"""The store in one SQLite file: a thread that writes, a pool that reads, and rules for sharing the file."""
