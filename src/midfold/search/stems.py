"""Light stemmers: the part that the forms of a word share, in many languages at once.

A conversation mixes languages, and a word does not say which is its own. So there is one function for all
that is written in Latin letters, and one for Cyrillic ones. They take endings off that carry grammar and not
meaning; two words that meet by accident cost less than a form that is not found.
"""

from midfold.late_patterns import compile_late

MAX_TERM_CHARS = 40
"""So much of a word is told apart from others."""

_SHORTEST_STEM = 3
_SHORTEST_STEMMED = 4
_MOST_STEMS = 1 << 17
_DOUBLE = compile_late(r"([bdfgmnprt])\1$")
_VOWEL = compile_late("[aeiouy]")
# Endings by how long the rest of the word has to be.
_ENDINGS = {
    3: (
        "isations izations isation ization aciones ations acion ation ators ating iendo ieron ator "
        "ated ates ados adas ing ado ada ed"
    ),
    4: (
        "amiento imiento amente ities ising izing mente iones ances ences ables ibles aban ando "
        "aron ness ings ised ized ises izes ions able ible ance ence idos idas edly ully ungen cion "
        "sion ate ise ize ion ity ido ida ive ung ful ly ar ir"
    ),
    5: ("ments ment ers er en al"),
}
_BY_LAST: dict[str, list[tuple[str, int]]] = {}
for _rest, _endings in _ENDINGS.items():
    for _ending in _endings.split():
        _BY_LAST.setdefault(_ending[-1], []).append((_ending, _rest))
for _known in _BY_LAST.values():
    _known.sort(key=lambda each: -len(each[0]))
_KEPT_S = ("ss", "us", "is")
_KEPT_ENDINGS = ("plement", "eing", "oing")
# Forms that share no stem, of the words that people use most.
_IRREGULAR = {
    form: base
    for base, forms in {
        "go": "goes going gone went", "make": "made", "buy": "bought", "say": "said", "tell": "told",
        "take": "took taken", "give": "gave given", "come": "came", "see": "saw seen seeing", "find": "found",
        "think": "thought", "feel": "felt", "keep": "kept", "leave": "left", "meet": "met",
        "run": "ran", "write": "wrote written", "break": "broke broken", "choose": "chose chosen",
        "begin": "began begun", "know": "knew known", "grow": "grew grown", "draw": "drew drawn",
        "drive": "drove driven", "eat": "ate eaten", "speak": "spoke spoken", "teach": "taught",
        "sell": "sold", "send": "sent", "spend": "spent", "build": "built", "lose": "lost", "win": "won",
        "hold": "held", "hear": "heard", "pay": "paid", "sleep": "slept", "swim": "swam swum",
        "sing": "sang sung", "fall": "fell fallen", "fly": "flew flown", "ride": "rode ridden",
        "wear": "wore worn", "throw": "threw thrown", "fight": "fought", "catch": "caught",
        "bring": "brought", "become": "became", "lead": "led", "stand": "stood",
        "child": "children", "man": "men", "woman": "women", "foot": "feet", "wife": "wives",
        "do": "did done",        "use": "used using", "try": "tried", "die": "died dying", "lie": "lying",
    }.items()
    for form in forms.split()
}  # fmt: skip
_CYRILLIC = compile_late("[\u0400-\u04ff]+")
_CYRILLIC_ENDING = compile_late(
    "(?:иями|ями|ами|ого|его|ому|ему|ыми|ими|иях|ией|ишь|ете|или|ала|ать|ять|ить|еть|ов|ев|ей|ах|ях|ам|ям|ом"
    "|ем|ой|ый|ий|ая|яя|ое|ее|ые|ие|ую|юю|ал|ла|ли|ло|ет|ит|ут|ют|ы|и|а|я|о|е|у|ю|ь|й)$"
)


def stem(word: str) -> str:
    """Return the stem of a word in small letters without accents."""
    word = _IRREGULAR.get(word, word)
    if len(word) < _SHORTEST_STEMMED or not word.isalpha():
        return word
    if word.isascii():
        return _stem_latin(word)
    if _CYRILLIC.fullmatch(word):
        found = _CYRILLIC_ENDING.search(word, _SHORTEST_STEMMED)
        return word[: found.start()] if found else word
    return word


def _stem_latin(word: str) -> str:
    base = _singular(word)
    if base.endswith("eed") and len(base) > _SHORTEST_STEMMED:
        base = base[:-1]
    if base.endswith(_KEPT_ENDINGS) or len(base) < _SHORTEST_STEM:
        return base
    for ending, rest in _BY_LAST.get(base[-1], ()):
        if base.endswith(ending) and len(base) - len(ending) >= rest:
            cut = base[: -len(ending)]
            if _VOWEL.search(cut):
                base = _DOUBLE.sub(r"\1", cut) if ending in ("ing", "ed", "er", "ings") else cut
            break
    # The last vowel is what grammar changes: prueba, archivo, cause, study.
    if len(base) > _SHORTEST_STEM and base[-1] in "aeo" and base[-2] not in "aeo":
        base = base[:-1]
    return f"{base[:-1]}i" if base[-1] == "y" and len(base) > _SHORTEST_STEM else base


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(_KEPT_S):
        return word
    if word.endswith("ies") and len(word) > _SHORTEST_STEMMED:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1]


class Stems(dict[str, str]):
    """The stem of each word, worked out when it is first seen."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_STEMS:
            self.clear()
        found = self[word] = stem(word)[:MAX_TERM_CHARS]
        return found
