"""How much a pair of characters says, in scripts that are written without spaces.

A run is indexed by all its pairs, and half of them lie across two words, or hold a particle. Such a pair is
rare by accident, so its rarity alone would count for more than that of the words.
"""

FAINT = 0.1
"""The weight of a pair that lies across two words: that of a word in every question."""

_FULL = 1.0
# Every pair of 프로젝트를 is looked for, but the last one has a particle.
_WITH_PARTICLE = 0.5
# A loan word in katakana is long, and has several pairs where a word in Han has one.
_LOAN = 0.5
_ENDING = 0.3
_GRAMMAR = 0.2
_CHINESE_PARTICLES = frozenset("的了和在是与與及吗嗎呢吧把被对對从從到就也都而或这這那")
_KOREAN_PARTICLES = frozenset("은는이가을를의에로도와과만")


def weigh_pair(pair: str) -> float:
    """Return what a pair counts beside its rarity; every other term counts in full."""
    if len(pair) != 2 or pair.isascii():
        return _FULL
    first, second = pair[0], pair[1]
    if _is_hiragana(first):
        return _GRAMMAR if _is_hiragana(second) else FAINT
    if _is_katakana(first):
        return _LOAN if _is_katakana(second) else FAINT
    if _is_hiragana(second):
        return _ENDING
    if _is_katakana(second) or first in _CHINESE_PARTICLES or second in _CHINESE_PARTICLES:
        return FAINT
    return _WITH_PARTICLE if second in _KOREAN_PARTICLES else _FULL


def _is_hiragana(sign: str) -> bool:
    return "\u3041" <= sign <= "\u309f"


def _is_katakana(sign: str) -> bool:
    return "\u30a0" <= sign <= "\u30ff"
