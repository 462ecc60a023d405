"""Rules: the sentences with which a person binds later work, and those of a project's own files.

Rules are kept word for word: losing them is what makes agents break rules after a fold. Only an author's own
sentences count: nothing that is fenced as code or quoted, and never the text of a tool.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import takewhile

from midfold.late_patterns import AnyPattern, compile_late
from midfold.texts import read_text

LONGEST_RULE_CHARS = 300
_QUESTION_MARKS = ("?", "？", "؟")
_CUT_OFF = (":", "：")
_SHORTEST_RULE_CHARS = 6
_RULE_READ_CHARS = 12_000
"""Of a longer message the two ends are read: what lies between is most often pasted."""

_FENCES = compile_late(r"```|~~~|</?(?:pre|code)>")
_QUOTES = compile_late(
    r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|「[^」\n]{1,300}」"
)
_QUOTED_LINE = compile_late(r"^\s{0,8}(?:>|\|)")
# A full stop ends a sentence before a space; the stops of Chinese and Japanese need none.
_RULE_END = compile_late(r"(?<=[.!?…])[\"')\]]{0,2}\s+|(?<=[。！？])|\n+")
_RULE_BULLET = compile_late(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")

# Ways to forbid that take a verb: French around it, Spanish, Italian and Russian before it.
_FORMS = compile_late(
    r"\b(?:ne\s|n['’])\w+\spas\b"
    r"|\bno\s(?:us|hag|toqu|cambi|modifiqu|borr|quier|incluy|agregu|añad|elimin|romp|olvid|escrib|cre)\w{1,4}\b"
    r"|\bnon\s(?:devi|usare|fare|toccare|cambiare|modificare)\b"
    r"|\bstop\s(?:\w+ly\s)?\w{3,}ing\b"
    r"|\bне\s(?:меня|трога|использу|удаля|дела|добавля|забуд|пиш)\w+"
)
_OWN_INTENT = compile_late(r"(?:and |then |so |first,? )?i(?:'ll| will| am going to|'m going to)\b")
"""how a person says what that person will do"""
_RULE_WORD = compile_late(r"\w+(?:['’]\w+)?")
_BOUND, _SOFT, _LISTED = 1.0, 1.0, 1.0
_ONCE, _ASKED, _REPORTED, _TO_DO = -0.75, -1.5, -1.5, -2.0
_ENOUGH = 1.0
"""The least sum of cues with which a sentence sets a rule."""
_RULE_LIST = compile_late(
    r"\b(?:rules?|requirements?|constraints?|boundar\w+|guidelines?|conventions?|conditions?|preferences?|remember"
    r"|details|regeln|anforderungen|règles|contraintes|reglas|requisitos|правила|требования)\b"
    r"|规则|要求|约束|规范|ルール|条件|制約|규칙|요구|조건",
    re.IGNORECASE,
)
_ASKED_FOR = frozenset({"details", "conditions", "requirements"})
_ASKING = compile_late(
    r"\b(?:provide|share|send|tell|show|list|explain|what|which|find|get)\b", re.IGNORECASE
)
"""how a person asks for details, rather than giving them"""
_TO_DO_LIST = compile_late(
    r"\b(?:address|fix|tackle|resolve|items?|issues?|todos?|to-dos?|steps?|changes|comments|findings)\b[^\n]{0,80}:\s*$",
    re.IGNORECASE,
)
_TOLD_LIST = compile_late(
    r"\b(?:(?:actual|current|observed) (?:behaviou?r|results?|output)|what happens|symptoms?"
    r"|bugs?|(?:tatsächliches|aktuelles) verhalten|comportement (?:actuel|observé)|comportamiento actual"
    r"|comportamento attuale|comportamento atual|фактическое поведение|текущее поведение)\b"
    r"|实际(?:结果|行为)|现象|実際の(?:動作|挙動)|現在の(?:動作|挙動)|現象|실제 동작|현재 동작|증상",
    re.IGNORECASE,
)
"""the line above what happens, rather than what should"""
_WEAK_WORDS = frozenset(["only", "without", "until", "unless", "exactly", "required"])
"""Words that limit an order, and by themselves describe as often."""
_ORDERING = compile_late(
    r"(?:please |pls |but |and |also |just )*(?:only|never|do|don't|run|use|keep|write|add|follow|put|make"
    r"|work|commit|touch|edit|change|answer|reply|test|merge|push|start|stop|call|return|show|ask|read|delete"
    r"|remove|exactly|without|everything|all|nothing)\b"
)
_NO_START = compile_late(
    r"no (?!(?:\w+ ){1,4}(?:is|was|are|were|gets?|means)\b"
    r"(?! (?:to|allowed|permitted|accepted|needed|wanted)\b))"
    r"(?!(?:i|it|we|this|that|the|you|he|she|they|there|problem|worries|idea|one|response)\b)\w"
)
_POINTING = compile_late(
    r"(?:but |and |also )?(?:this|that|these|those|it)\b(?! (?:file|project|repo|branch|task|session|time)\b)"
    r"|das (?:soll|darf|muss|ist)|ça |cela |ceci |eso |esto |isso |isto |это "
    r"|这(?:个|样)?[不别应必要]|それ|これは|이건|그건"
)
"""how a sentence begins whose subject stands in the one before it"""
_FORBIDDING = compile_late(
    r"\b(?:never|not|no|stop|avoid|without|nicht|kein\w*|nie|niemals|pas|jamais|aucun\w*|nunca|não|non|mai"
    r"|не|нельзя|никогда)\b|n't\b|不|别|勿|禁止|ない|ません|않|마세요|말고|말아|금지"
)
_INSTEAD = compile_late(
    r"\b(?:instead|rather|only use|stattdessen|sondern|lieber|plutôt|en su lugar|mejor|em vez|invece|вместо"
    r"|лучше)\b|而是|改用|改为|代わりに|かわりに|대신"
)
_HEADING = compile_late(r"^#{1,4} \S", re.MULTILINE)
_DOCUMENT_HEADINGS = 3
_SAME_WORDS, _SAME_PART = 3, 0.6
_SHORT_WORD = 3
_FOR_A_WHILE = compile_late(
    r"\b(?:first|for now|not yet|not now|for the moment|vorerst|zuerst|vorläufig|d'abord|pour l'instant"
    r"|primero|por ahora|todavía no|primeiro|por enquanto|prima|per ora|сначала|пока)\b"
    r"|先|暂时|まず|まだ|먼저|일단|아직"
)
_LIFTING_CHARS = 2_000
_FIRST_WIDE = "\u0400"
_LONGEST_RULE_MESSAGE = 1_500
_MOST_PROJECT_RULES = 24
_ORDER = compile_late(r"`[^`\n]{2,120}`|^(?:To |When |Before |After |If |For )[^\n]{3,120},")
_IMPERATIVE = compile_late(
    r"^(?:run|use|keep|write|add|follow|put|place|name|make|prefer|avoid|check|test|format|commit|update|include|do"
    r"|call|import|return|document|remove|set|read|ask|start|create|build|install|respect|stick)\b",
    re.IGNORECASE,
)


def find_rules(text: str) -> list[str]:
    """Return the sentences of a person's words that set a rule, in their order, each once."""
    if len(text) > _RULE_READ_CHARS:
        text = f"{text[: _RULE_READ_CHARS // 2]}\n{text[-_RULE_READ_CHARS // 2 :]}"
    # What stands between two fences is code.
    bare = "\n".join(_FENCES.split(text)[::2])
    # A whole document describes: there, only what is bound or listed among rules is one.
    is_document = len(_HEADING.findall(bare)) >= _DOCUMENT_HEADINGS
    sentences = list(_sentences(bare))
    rules = [is_rule(each, listed, is_described=is_document) for each, listed, _ in sentences]
    items = [is_item for *_, is_item in sentences]
    return list(dict.fromkeys(_join_rules([each for each, *_ in sentences], rules, items)))


def _join_rules(sentences: Sequence[str], rules: Sequence[bool], items: Sequence[bool]) -> Iterator[str]:
    """Yield rules; what one points back to stands with it, and what to do in place of what it forbids.

    An item above a line that is none was quoted, perhaps to be rejected: together they say the contrary.
    """
    for at, (sentence, is_one) in enumerate(zip(sentences, rules, strict=True)):
        following = sentences[at + 1] if at + 1 < len(sentences) else ""
        if not is_one or (following and rules[at + 1] and _points_back(following)):
            continue
        said = sentence
        if at and _points_back(sentence) and items[at - 1] <= items[at]:
            before = sentences[at - 1]
            said = _join(before, said) if len(before) + len(said) < LONGEST_RULE_CHARS else said
        if following and not rules[at + 1] and _is_alternative(sentence, following):
            said = _join(said, following) if len(said) + len(following) < LONGEST_RULE_CHARS else said
        if said.endswith(_CUT_OFF) and not any(rules[at + 1 : at + 2]):
            said = _join_items(said, sentences[at + 1 :], items[at + 1 :])
        yield said


def _join_items(rule: str, sentences: Sequence[str], items: Sequence[bool]) -> str:
    """Write the items below a rule that ends where they begin behind it, as far as there is room."""
    for sentence in takewhile(bool, (each if it else "" for each, it in zip(sentences, items, strict=True))):
        if len(rule) + len(sentence) >= LONGEST_RULE_CHARS:
            break
        rule = _join(rule, sentence)
    return rule


def _join(one: str, other: str) -> str:
    if one[-1] in "。！？":
        return f"{one}{other}"
    return f"{one} {other}" if one[-1] in ".!?…:;," else f"{one}; {other}"


def _points_back(sentence: str) -> bool:
    return _POINTING.match(_plain(sentence)) is not None


def _is_alternative(rule: str, following: str) -> bool:
    """Whether a sentence says what to do in place of what the one before it forbids."""
    said = _plain(following)
    if _FORBIDDING.search(_plain(rule)) is None or said.endswith(_QUESTION_MARKS):
        return False
    return _INSTEAD.search(said) is not None or bool(_matter(rule) & _matter(following))


def find_project_rules(text: str) -> list[str]:
    """Return the sentences of a project's file for agents that set a rule: those that bind, then orders."""
    if len(text) > _RULE_READ_CHARS:
        text = text[:_RULE_READ_CHARS]
    sentences = list(dict.fromkeys(sentences_of("\n".join(_FENCES.split(text)[::2]))))
    sentences = [each for each in sentences if _SHORTEST_RULE_CHARS <= len(each) <= LONGEST_RULE_CHARS]
    binding = [
        each for each in sentences if _is_bound(_plain(each)) and not _cues()["reports"].is_in(_plain(each))
    ]
    orders = [
        each for each in sentences if _ORDER.search(each) and _IMPERATIVE.search(each.rpartition(", ")[2])
    ]
    chosen = dict.fromkeys([*binding, *orders][:_MOST_PROJECT_RULES])
    return [each for each in sentences if each in chosen]


def is_rule(sentence: str, listed: float = 0.0, *, is_described: bool = False) -> bool:
    """Whether a sentence of a person sets a rule; `listed` is what the list that it stands in says for it.

    `is_described` says that it stands in a document, where soft words bind nobody.
    """
    if not _SHORTEST_RULE_CHARS <= len(sentence) <= LONGEST_RULE_CHARS:
        return False
    said, cues = _plain(sentence), _cues()
    if _OWN_INTENT.match(said):
        return False
    is_soft = not is_described and cues["soft"].is_in(said)
    is_question = said.endswith(_QUESTION_MARKS)
    reports = cues["reports"].is_in(said)
    is_bound = not is_question and _is_bound(_without_void(said, reports=reports))
    weight = listed + _BOUND * is_bound + _SOFT * is_soft
    if weight < _ENOUGH:
        return False
    if cues["once"].is_in(said):
        weight += _ONCE
    if cues["asks"].is_in(said) and (is_question or not is_bound):
        weight += _ASKED
    if cues["tells"].is_in(said):
        weight += _ASKED
    if reports:
        weight += _REPORTED
    return weight >= _ENOUGH


def takes_back(text: str) -> bool:
    """Whether a person takes back what was said just before."""
    return len(text) <= _LONGEST_RULE_MESSAGE and _cues()["back"].is_in(_plain(text[:400]))


def is_same_matter(one: str, other: str) -> bool:
    """Whether two rules are about one thing, so that the newer one holds."""
    ours, theirs = _matter(one), _matter(other)
    shared = len(ours & theirs)
    if shared < _SAME_WORDS or shared < _SAME_PART * min(len(ours), len(theirs)):
        return False
    return not (any(map(_is_name, ours - theirs)) and any(map(_is_name, theirs - ours)))


def is_lifted(rule: str, text: str) -> bool:
    """Whether a rule that held only for a while is over, since its author takes up what it put off."""
    if not _holds_for_a_while(rule):
        return False
    ours = _matter(rule)
    shared = len(ours & _matter(text[:_LIFTING_CHARS]))
    return shared >= _SAME_WORDS or (shared > 1 and shared >= _SAME_PART * len(ours))


@lru_cache(maxsize=8192)  # of all rules, as every later request asks this of each
def _holds_for_a_while(rule: str) -> bool:
    return _FOR_A_WHILE.search(_plain(rule)) is not None


def _is_name(word: str) -> bool:
    return "_" in word or any(letter.isdigit() for letter in word)


@lru_cache(maxsize=1024)
def _matter(rule: str) -> frozenset[str]:
    """Return the words of a rule that say what it is about; pairs of letters where words are not parted."""
    said = _plain(rule)
    words = {
        word
        for word in _RULE_WORD.findall(said)
        if word.isascii() and (len(word) > _SHORT_WORD or _is_name(word))
    }
    wide = "".join(letter for letter in said if letter >= _FIRST_WIDE)
    pairs = {wide[at : at + 2] for at in range(len(wide) - 1)}
    return frozenset((words | pairs) - _words())


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text without bullets; quoted lines are left out."""
    return (sentence for sentence, *_ in _sentences(text))


def _sentences(text: str) -> Iterator[tuple[str, float, bool]]:
    """Yield sentences, what the list that each stands in says for it, and whether it is an item."""
    listed, is_paragraph = 0.0, False
    for line in text.split("\n"):
        if not line.strip():
            listed = 0.0 if is_paragraph else listed
            continue
        if _QUOTED_LINE.match(line):
            continue
        bullet = _RULE_BULLET.match(line)
        bare = line[bullet.end() :].strip() if bullet else line.strip()
        if bullet is None:
            is_paragraph = listed == _REPORTED and not _is_lead(bare)
            listed = listed if is_paragraph else _weigh_list(bare)
        weight = listed if bullet or is_paragraph else 0.0
        is_item = bullet is not None
        yield from ((each.strip(), weight, is_item) for each in _RULE_END.split(bare) if each.strip())


def _weigh_list(line: str) -> float:
    """Say what a line that may introduce a list says for its items."""
    if _is_lead(line):
        if _TO_DO_LIST.search(line):
            return _TO_DO
        named = _RULE_LIST.search(line)
        if named is None:
            return _REPORTED if _TOLD_LIST.search(line) else 0.0
        return 0.0 if named[0].lower() in _ASKED_FOR and _ASKING.search(line) else _LISTED
    return 0.0


def _is_lead(line: str) -> bool:
    return line.startswith("#") or line.rstrip("*_ ").endswith((":", "："))


def _plain(sentence: str) -> str:
    return _QUOTES.sub(" ", sentence).lower().replace("’", "'").strip()


def _without_void(said: str, *, reports: bool) -> str:
    """Take out words that bind in other sentences, and here only report or describe."""
    said = _replaced("reports").sub(" ", said) if reports else said
    return _replaced("void").sub(" ", said)


def _is_bound(said: str) -> bool:
    words = _words().intersection(_RULE_WORD.findall(said))
    return (
        bool(words - _WEAK_WORDS)
        or (bool(words) and _ORDERING.match(said) is not None)
        or any(map(said.__contains__, _phrases()))
        or _FORMS.search(said) is not None
        or _NO_START.match(said) is not None
        or (not said.isascii() and any(map(said.__contains__, _parts())))
    )


@cache
def _cues() -> dict[str, AnyPattern]:
    """Return the patterns of each group of cues: a line or more for each language."""
    groups: dict[str, list[str]] = {}
    for line in read_text(__package__, "rule_cues.txt").split("\n"):
        if line.startswith("[") and line.endswith("]"):
            groups[line[1:-1]] = patterns = []
        elif line:
            patterns.append(line)
    return {name: AnyPattern("|".join(patterns)) for name, patterns in groups.items()}


@cache
def _replaced(group: str) -> re.Pattern[str]:
    """Return the cues of a group as one pattern."""
    return compile_late(_cues()[group].pattern)


@cache
def _words() -> frozenset[str]:
    """Return the words that forbid, oblige, limit or prefer; a language a line or two."""
    return frozenset(read_text(__package__, "rule_words.txt").split())


@cache
def _phrases() -> tuple[str, ...]:
    """Return what takes several words to say."""
    return tuple(read_text(__package__, "rule_phrases.txt").strip().replace("\n", ", ").split(", "))


@cache
def _parts() -> tuple[str, ...]:
    """Return what is found inside words, for scripts that do not part them."""
    return tuple(part.replace("_", " ") for part in read_text(__package__, "rule_parts.txt").split())
