"""The sentences of a text, and what each does: it states, announces, asks, doubts, or waits.

A statement may hold for long. What announces the next step, asks, guesses or waits was true for a moment.
Items of a list and rows of a table mean little without the line above them, so each knows it: its lead.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cache

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import AnyPattern, compile_late
from midfold.texts import read_text

_FULL_SENTENCE_WORDS = 12
# Scripts without blanks are counted by pairs, Korean by short words: as many to a token as elsewhere.
_WORD = compile_late(r"[\u3040-\u9fff]{2}|[\uac00-\ud7af]{2,3}|[^\W\d_\u3040-\u9fff\uac00-\ud7af]{3,}")
_PLAIN_WORD = compile_late(r"[A-Za-z]{3,}")
"""the same where all is ASCII, in half the time"""
NAMING_FACTOR = 1.5
_NAMING_SIGN = compile_late(r"[0-9_/`]|[a-z][A-Z]|\w\.\w|\(\)")
"""signs of code, joined words, dotted names and figures"""
_SHORT_SENTENCE_WORDS, _SHORT_FACTOR = 5, 0.5
"""Fewer words that name nothing only keep a talk going."""
_SENTENCE_END = compile_late(r"(?<=[.!?])\s+|(?<=[。！？])")
_SENTENCE_CHARS, _WORD_CHARS = 320, 40
_SHORTEST_SENTENCE_CHARS = 4
# How a sentence ends that only says what comes next.
_ANNOUNCING_ENDS = (":", "：", "...", "…")
_ANNOUNCING_CHARS = 16
_LEAD_IN_CHARS = 40
_LEAD_IN = compile_late(
    r"^(?:(?:now|first|next|then|ok|okay|great|good|perfect|so|and|finally)[,.!]?\s+){1,3}"
)
_DOING = compile_late(
    r"^(?:i'm|i am|we're|we are)\s(?:\w+\s)?\w+ing\b"
    r"|^(?:i|we) can (?:now )?(?:edit|update|change|write|add|fix|implement|create|proceed|continue|make)\b"
)
_WILL_DO = compile_late(r"(?:する[でわねぞ]|しましょう)[！!。]*$")
_TAG_CHARS = 48
_ANNOUNCED_FACTOR = 0.2
_QUESTION_ENDS = ("?", "？", "؟")
_FENCES = ("```", "~~~")
_TRAILING = "*_)\"'」 "
_ITEM = compile_late(r"\s{0,12}(?:[-*+•]\s|\d{1,3}[.)]\s|\|)")
_BULLET = compile_late(r"(?:[-*+•]|\d{1,3}[.)])\s+")
_TABLE_RULE = compile_late(r"[\s|:+-]+$")
_EMPHASIS = "#*_ "
_ITEM_SIGNS, _COMING_CHARS = "#*_-•0123456789.) ", 40
_LEAD_CHARS = 80
_TRIM = str.maketrans(dict.fromkeys(",.!;:*()", " "))
_CLAIM = AnyPattern(
    r"\b(?:fixed|resolved|solved|works? now|now works?|working now"
    r"|(?:all|tests?|checks?|build|suite|lint\w*|everything)(?:\s\w+){0,3}\s(?:pass(?:e[sd]|ing)?|green|clean"
    r"|succeed(?:s|ed)?)|builds? (?:cleanly|succeeded|passes)|compiles (?:cleanly|now)|no (?:more )?errors"
    r"|success(?:fully|ful)?|behoben|gelöst|funktioniert jetzt|corrigé|résolu"
    r"|corregido|resuelto|solucionado|funciona ahora|исправлен\w*|решен[аоы]?|работает)\b"
    r"|(?:已|问题)(?:修复|解决)|修复(?:完成|成功)|通过了|全部通过|测试通过|成功|解决了"
    r"|修正(?:完了|した|しました)|直(?:った|りました)|解決|通った|パス|動作確認"
    r"|해결|수정 ?(?:완료|했)|통과|성공|고쳤",
)
_DOUBT = AnyPattern(
    r"\?|？|\b(?:if|whether|should|not|n't|unless|until|once|will|would|could|might|need|try|trying|verify|ensure"
    r"|still|fail\w*|let me|let's|si|wenn|ob|если)\b"
    r"|是否|如果|应该|尝试|未|没有|かどうか|れば|たら|はず|ない|아직|면 |안 ",
)
_CLAIM_END = compile_late(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_NAME = compile_late(
    r"`[^`\n]{2,80}`|\"[^\"\n]{3,80}\"|[A-Za-z_]\w*(?:[./:=-][\w<>]+)*(?:[._/=(]\w*)+\)?"
    r"|[a-z]+[A-Z]\w*|[A-Z]\w*[A-Z]\w*[a-z]\w*"
    r"|\b\d[\d.,]*\b|(?<=[\u2e80-\uffff])\s?[A-Za-z][\w.-]{2,}|[A-Za-z][\w.-]{2,}(?=\s?[\u2e80-\uffff])"
)
"""code, a quotation, a joined word or a figure; any word in Latin letters where others have none"""
_RELATED = 2
"""So many names make a sentence a finding, if one of them is not what was asked or called."""


class Tone(IntEnum):
    """The kind of a sentence."""

    STATES = 0
    ANNOUNCES = 1
    ASKS = 2
    DOUBTS = 3
    WAITS = 4
    SHOWS = 5
    """it is a line of code"""


@dataclass(frozen=True, slots=True)
class WeightedSentences:
    """Sentences, how much each weighs, and what it does. In columns: there are many."""

    texts: tuple[str, ...]
    weights: tuple[float, ...]
    decides: tuple[bool, ...]
    """whether it says what was settled"""
    tones: tuple[Tone, ...]
    leads: tuple[str, ...]
    """of an item or a row, the line that announces it"""

    def __iter__(self) -> Iterator[tuple[str, float, bool, Tone, str]]:
        return zip(self.texts, self.weights, self.decides, self.tones, self.leads, strict=True)


def split_sentences(text: str) -> WeightedSentences:
    """Return the sentences that say something, each once."""
    leads: dict[str, str] = {}
    shown: set[str] = set()
    for sentence, lead, is_code in _sentences(text):
        leads.setdefault(sentence, lead)
        if is_code:
            shown.add(sentence)
    texts = tuple(leads)
    lowered = [text.lower() for text in texts]
    words = [each.translate(_TRIM).split() for each in lowered]
    tones = tuple(
        [
            Tone.SHOWS if text in shown else _find_tone(text, small, said)
            for text, small, said in zip(texts, lowered, words, strict=True)
        ]
    )
    deciding = tuple([_decides(text, said) for text, said in zip(texts, words, strict=True)])
    weights = (
        weigh_sentence(text) * (_ANNOUNCED_FACTOR if tone is Tone.ANNOUNCES else 1.0)
        for text, tone in zip(texts, tones, strict=True)
    )
    return WeightedSentences(texts, tuple(weights), deciding, tones, tuple(leads.values()))


def _sentences(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield sentences line by line, each with its lead, and whether it is code."""
    leads, header = list[_Lead](), ""
    is_code = False
    lines = text.split("\n")
    fences = sum(map(_is_fence, lines)) if "```" in text or "~~~" in text else 0
    for line in lines:
        bare = line.strip()
        if not bare:
            continue
        if fences and _is_fence(bare):
            fences -= 1
            is_code = not is_code and fences > 0  # one that nothing closes opens nothing
            continue
        if is_code:
            if len(bare) >= _SHORTEST_SENTENCE_CHARS and not is_tag(bare):
                yield _cut(bare, _SENTENCE_CHARS), "", True
            continue
        is_row = bare[0] == "|"
        is_item = is_row or _ITEM.match(line) is not None
        if is_row and (not header or _TABLE_RULE.match(bare)):
            header = header or bare
            continue
        header = header if is_row else ""
        indent = len(line) - len(line.lstrip())
        while leads and leads[-1].ends_before(indent, is_item=is_item):
            leads.pop()
        above = header if is_row else leads[-1].title if is_item and leads else ""
        for piece in _SENTENCE_END.split(bare):
            said = _cut(piece.strip(), _SENTENCE_CHARS)
            if len(said) >= _SHORTEST_SENTENCE_CHARS and not is_tag(said):
                yield said, above, False
        title = "" if is_row else _read_lead(bare)
        if title:
            leads.append(_Lead(title, indent, is_item))


@dataclass(frozen=True, slots=True)
class _Lead:
    """A line that says what the items below it are."""

    title: str
    indent: int
    is_item: bool

    def ends_before(self, indent: int, *, is_item: bool) -> bool:
        """Whether a line so far from the margin is no item of it."""
        return indent < self.indent or (indent == self.indent and (self.is_item or not is_item))


def _read_lead(bare: str) -> str:
    """Return the end of a line that announces items, or nothing."""
    body = _BULLET.sub("", bare)
    title = body.strip(_EMPHASIS)
    leads = title.endswith((":", "：")) or (body[:1] == "*" and body[-1] == "*") or bare[0] == "#"
    return _shorten(title.rpartition(". ")[2]) if leads else ""


def _cut(text: str, most: int) -> str:
    """Cut a sentence after a whole word, with a mark."""
    if len(text) <= most:
        return text
    stop = text.rfind(" ", most - _WORD_CHARS, most)
    return f"{text[: stop if stop > 0 else most - 1].rstrip()}…"


def _is_fence(line: str) -> bool:
    bare = line.strip()
    return bare.startswith(_FENCES) and bare.count(bare[:3]) == 1


def _shorten(title: str) -> str:
    """Return the end of a title from a whole word on: half a name would name something else."""
    return title if len(title) <= _LEAD_CHARS else title[-_LEAD_CHARS:].partition(" ")[2]


def read_tone(sentence: str) -> Tone:
    """Say what a sentence does, by how it begins and ends and by its cues."""
    lowered = sentence.lower()
    return _find_tone(sentence, lowered, lowered.translate(_TRIM).split())


def _find_tone(sentence: str, lowered: str, words: Sequence[str]) -> Tone:
    if sentence.rstrip(_TRAILING).endswith(_QUESTION_ENDS):
        return Tone.ASKS
    cues = _cues()
    if not cues.wait_words.isdisjoint(words) and any(map(lowered.__contains__, cues.wait_phrases)):
        return Tone.WAITS
    if announces(sentence):
        return Tone.ANNOUNCES
    if not cues.doubt_words.isdisjoint(words):
        return Tone.DOUBTS
    if not sentence.isascii():
        if any(map(sentence.__contains__, cues.doubt_parts)):
            return Tone.DOUBTS
        if any(map(lowered.__contains__, cues.wait_parts)):
            return Tone.WAITS
    return Tone.STATES


def turns_back(sentence: str) -> bool:
    """Whether a sentence begins as one does that takes back what was said before it."""
    return sentence.lstrip(_EMPHASIS).lower().startswith(_cues().turns)


def relates(sentence: str) -> bool:
    """Whether a sentence holds several names, one of which is perhaps said of another."""
    return len(names_in(sentence)) >= _RELATED


def names_in(sentence: str) -> set[str]:
    """Return code, quotations, joined words and figures."""
    return {name.strip('`" ') for name in _NAME.findall(sentence)}


def leans(sentence: str) -> bool:
    """Whether a sentence begins with words that point to the one before it."""
    if depends(sentence):
        return True
    first, _, rest = sentence.partition(" ")
    if first.lower().rstrip(",") in _cues().leaning_words:
        return bool(rest)
    return not sentence.isascii() and sentence.startswith(_cues().leaning_parts)


def depends(sentence: str) -> bool:
    """Whether a sentence holds only in the case that the one before it tells."""
    return sentence[:_LEAD_IN_CHARS].lower().startswith(_cues().leaning_phrases)


def tells_what_comes(text: str) -> bool:
    """Whether a sentence, or the lead of an item, begins as a list of what is still to be done."""
    return text.lstrip(_ITEM_SIGNS)[:_COMING_CHARS].lower().startswith(_cues().coming)


def decides(sentence: str) -> bool:
    """Whether a sentence says what was decided, found or done, or why."""
    return _decides(sentence, sentence.lower().translate(_TRIM).split())


def _decides(sentence: str, words: Sequence[str]) -> bool:
    return not _decision_words().isdisjoint(words) or (
        not sentence.isascii() and any(map(sentence.__contains__, _decision_parts()))
    )


def announces(sentence: str) -> bool:
    """Whether a sentence only says what comes next; one that names something says more."""
    lowered = sentence[:_LEAD_IN_CHARS].lower()
    start = _LEAD_IN.sub("", lowered)
    if start.startswith(_announcing_starts(), 0, _ANNOUNCING_CHARS) or _DOING.match(start):
        return True
    if not sentence.isascii() and _WILL_DO.search(sentence):
        return True
    if not sentence.rstrip(_TRAILING).endswith(_ANNOUNCING_ENDS):
        return False
    return len(start) < len(lowered) or _NAMING_SIGN.search(sentence) is None


def weigh_sentence(sentence: str) -> float:
    """Weigh a sentence: twice what a line does when it is long enough to say something."""
    words = count_words(sentence)
    full = min(words, _FULL_SENTENCE_WORDS) * 2 / _FULL_SENTENCE_WORDS
    if _NAMING_SIGN.search(sentence):
        return full * NAMING_FACTOR
    return full * (_SHORT_FACTOR if words < _SHORT_SENTENCE_WORDS else 1.0)


def names_something(sentence: str) -> bool:
    """Whether a sentence holds a figure, code or a joined name."""
    return _NAMING_SIGN.search(sentence) is not None


def count_words(text: str) -> int:
    """Count words, in any script about as many to a token."""
    return len((_PLAIN_WORD if text.isascii() else _WORD).findall(text))


def is_tag(line: str) -> bool:
    """Whether a line only opens or closes an element."""
    return (
        line[0] == "<"
        and line[-1] == ">"
        and len(line) <= _TAG_CHARS
        and line[1:-1].strip("/-").isidentifier()
    )


@dataclass(frozen=True, slots=True)
class Claims:
    """What a text says of things that work."""

    sentences: tuple[str, ...] = ()
    """those without a doubt"""
    is_any: bool = False
    """something is said to work, be it with a doubt"""


def read_claims(text: str) -> Claims:
    """Find the claims in the words of a model."""
    if not _CLAIM.is_in(text.lower()):
        return Claims()
    return Claims(tuple(filter(is_claim, _CLAIM_END.split(text))), is_any=True)


def is_claim(sentence: str) -> bool:
    """Whether a sentence says without a doubt that something works."""
    lowered = sentence.lower()
    return _CLAIM.is_in(lowered) and not _DOUBT.is_in(lowered)


@dataclass(frozen=True, slots=True)
class _Cues:
    """Words, phrases and parts of words by which doubt and waiting are told."""

    doubt_words: frozenset[str]
    doubt_parts: tuple[str, ...]
    wait_words: frozenset[str]
    wait_phrases: tuple[str, ...]
    wait_parts: tuple[str, ...]
    turns: tuple[str, ...]
    leaning_words: frozenset[str]
    leaning_parts: tuple[str, ...]
    leaning_phrases: tuple[str, ...]
    coming: tuple[str, ...]


@cache
def _cues() -> _Cues:
    groups: dict[str, list[str]] = {}
    for line in read_text(__package__, "tone_cues.txt").split("\n"):
        if line.startswith("[") and line.endswith("]"):
            groups[line[1:-1]] = cues = []
        elif line:
            cues += [cue for cue in line.split(", ") if cue]
    return _Cues(
        frozenset(groups["doubt words"]),
        tuple(groups["doubt parts"]),
        frozenset(groups["wait words"]),
        tuple(groups["wait phrases"]),
        tuple(groups["wait parts"]),
        tuple(groups["turns"]),
        frozenset(groups["leaning words"]),
        tuple(groups["leaning parts"]),
        tuple(groups["leaning phrases"]),
        tuple(groups["coming leads"]),
    )


@cache
def _decision_words() -> frozenset[str]:
    """Return words with which models say what they settled on, found or did, and why."""
    return frozenset(read_text(__package__, "decision_words.txt").split())


@cache
def _decision_parts() -> tuple[str, ...]:
    """Return the same for scripts that do not part words."""
    return tuple(read_text(__package__, "decision_parts.txt").split())


@cache
def _announcing_starts() -> tuple[str, ...]:
    """Return how a sentence begins that only says what comes next."""
    return tuple(read_text(__package__, "announcing_starts.txt").strip().replace("\n", ", ").split(", "))
