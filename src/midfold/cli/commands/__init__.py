"""One module for each command, named as the command and loaded when it is asked for."""

__all__ = ()
