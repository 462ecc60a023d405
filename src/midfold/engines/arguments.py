"""Checks of what engines are made with: one clear line for a wrong argument."""

from midfold.errors import ConfigError


def check_summarizer(summarizer: object) -> None:
    """Raise `ConfigError` for a summariser that cannot be called."""
    if summarizer is not None and not callable(summarizer):
        raise ConfigError("summarizer", summarizer, hint="a function from SummaryRequest to text")


def check_window(context_length: object) -> None:
    """Raise `ConfigError` for a window that is no number of tokens."""
    if isinstance(context_length, str):
        raise ConfigError("context_length", context_length, hint="a number of tokens; a name goes to model=")
    if not isinstance(context_length, int) or isinstance(context_length, bool) or context_length < 1:
        raise ConfigError("context_length", context_length, hint="a number of tokens above 0")
