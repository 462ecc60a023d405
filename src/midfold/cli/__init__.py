"""The command line. Programs import nothing from here: `midfold.cli.main` is the entry, loaded by name."""

__all__ = ()
