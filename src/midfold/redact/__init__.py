"""The one door for text that is stored, logged, or put in a summary, a stub or a prompt.

Credentials become typed placeholders. Time is linear in the text whatever it says, and text without
credentials comes back as it is.
"""

from midfold.redact.json_strings import escaped_strings
from midfold.redact.patterns import Pattern, Secret, choose_engine, compile_bounded
from midfold.redact.redaction import find_secrets, redact

__all__ = [
    "Pattern",
    "Secret",
    "choose_engine",
    "compile_bounded",
    "escaped_strings",
    "find_secrets",
    "redact",
]
