"""Tool calls and their results in few words: a stub for each, excerpts of output, failures found in it."""
