"""Views of an agent: its words as they come, a line for each tool, how full the window is.

Nothing is imported here: a pipe needs none of what a terminal does.
"""

__all__ = ()
