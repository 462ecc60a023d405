"""Keep long LLM conversations inside their token budget without losing anything."""

__version__ = "0.1.0.dev0"
