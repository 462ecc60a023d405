"""The one door for text that is stored, logged, or put in a summary, a stub or a prompt.

Credentials become typed placeholders. Time is linear in the text whatever it says, and text without
credentials comes back as it is.
"""

from midfold.redact.engine import Pattern, bounded, re2_or_bounded
from midfold.redact.find import find_secrets
from midfold.redact.results import Secret
from midfold.redact.stream import StreamRedactor
from midfold.redact.write import redact

__all__ = [
    "Pattern",
    "Secret",
    "StreamRedactor",
    "bounded",
    "find_secrets",
    "re2_or_bounded",
    "redact",
]
