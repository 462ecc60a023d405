"""Words that only welcome what was looked for: they say that it is there, and nothing of it."""

import re

from midfold.late_patterns import compile_late
from midfold.summaries.ledger.sentences import relates

_CHEER = compile_late(
    r"[*_]{0,2}[^\W\d_]{2,12}(?:\s[^\W\d_]{2,12})?(?:[,!！，、]|\s[-–—])(?:\s|[^\x00-\x7f])"
)
"""a word or two, and a comma, a dash or a mark of exclamation"""
_FOUND = compile_late(
    r"^(?:\W*[^\W\d_]{2,12}(?:\s[^\W\d_]{2,12})?(?:[,!！，、]|\s[-–—])\s*)?(?:now,? |so )?(?:"
    r"(?:i|we)(?:['’]ve| have)?(?: now| also)? (?:found|located)(?! (?:that|why|how|out|no)\b)\b"
    r"|(?:ich habe|wir haben) (?:jetzt )?(?:den|die|das)\b.* gefunden\W*$"
    r"|j['’]ai (?:maintenant )?trouvé (?!que|pourquoi)|nous avons trouvé (?!que|pourquoi)"
    r"|(?:ya )?(?:he|hemos) encontrado (?!que|por)|encontr(?:é|amos|ei) (?!que|por)"
    r"|(?:我|我们)?(?:已经?)?找到了)"
    r"|(?:見つけ|見つかり)(?:ました|た)[！!。]*$|찾았(?:습니다|어요|다)[!.]*$",
    re.IGNORECASE,
)
_STOPS = ".!。！ "
_REASON = compile_late(
    r"[:：]\s*\S|\b(?:because|since|due to|cause\w*|weil|parce|porque|но|not|no|n't)\b|因为|由于|ので|때문",
    re.IGNORECASE,
)


def is_cheer(sentence: str) -> bool:
    """Whether a sentence begins as one does that welcomes what was seen: with a word or two of their own."""
    return _CHEER.match(sentence) is not None


def only_welcomes(sentence: str) -> bool:
    """Whether a sentence says that something was found, and neither what it does nor why."""
    is_find = _FOUND.search(sentence) is not None
    return is_find and not relates(sentence.rstrip(_STOPS)) and _REASON.search(sentence) is None
