"""The verbs of the SQLite store, a file for each group of `Store`."""
