"""Keys that are pressed while nobody reads them are kept for the next prompt, and not shown meanwhile."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

if sys.platform != "win32":
    import termios


@contextmanager
def kept_keys() -> Iterator[None]:
    """Keep the terminal from showing keys, which would tear what is drawn, and from taking Ctrl-D for an end.

    Ctrl-C works as before.
    """
    if sys.platform == "win32":
        yield
        return
    try:
        before = termios.tcgetattr(sys.stdin.fileno())
    except (termios.error, OSError, ValueError, AttributeError):  # no terminal: nothing is shown
        yield
        return
    quiet = [*before[:3], before[3] & ~(termios.ECHO | termios.ECHONL | termios.ICANON), *before[4:]]
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal may be gone by now
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)
