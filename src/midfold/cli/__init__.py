"""The command line: thin commands over the library, and the sentences people read."""
