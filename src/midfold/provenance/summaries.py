"""Summaries that another product put into a conversation, in any role.

They are long, they have sections, and their first lines speak of a conversation and of its summary. What is
between two of our own fence lines is one, too, whoever wrote it.
"""

import re

from midfold.late_patterns import compile_late

_SHORTEST_CHARS = 400
_OPENING_CHARS = 500
_LEAST_SECTIONS = 3
_SECTION = compile_late(
    r"^[ \t]{0,3}(?:#{1,4}[ \t]+\S|\*\*[^*\n]{2,80}\*\*:?[ \t]*$|\d{1,2}[.)][ \t]+[^\n]{2,80}:[ \t]*$"
    r"|\d{1,2}[.)][ \t]+\*\*|[^\n:]{2,40}:[ \t]*$|[-*][ \t]+\*\*|【[^】\n]{1,40}】)",
    re.MULTILINE,
)
_SUBJECT = compile_late(
    r"conversation|session|context|thread|chat\b|history|dialogue|transcript|turns|earlier work"
    r"|gespräch|sitzung|verlauf|unterhaltung|échange|conversación|sesión|contexto|conversa\b|sessão|conversazione"
    r"|sessione|contesto|разговор|диалог|сесси|контекст|对话|會話|会话|上下文|對話|会話|コンテキスト|やり取り|セッション"
    r"|대화|세션|맥락|컨텍스트",
    re.IGNORECASE,
)
_SUMMARY = compile_late(
    r"summar|compact|compress|condens|hand-off|handoff|hand-over|handover|recap|continued from|checkpoint of"
    r"|state snapshot|pick up where|picks up where|resume from|resume the|resuming from|resuming the"
    r"|zusammenfass|zusammengefasst|übergabe|résumé|resumen"
    r"|resumid|resumo|riassunt|riepilog|сводк|резюме|краткое содержание|сжат"
    r"|总结|摘要|概要|总览|總結|要約|まとめ|引き継ぎ"
    r"|요약|압축|인계",
    re.IGNORECASE,
)
_SUBJECT_STEMS, _SUMMARY_STEMS = (
    tuple(stem.removesuffix(r"\b") for stem in pattern.pattern.split("|")) for pattern in (_SUBJECT, _SUMMARY)
)
"""what the two patterns look for: not finding it in a text of small letters is ten times as fast"""
_OURS = compile_late(r"<<<MIDFOLD \S{1,80}>>>\n")
_FENCE_SIGN = "<<<MIDFOLD "
_ENDING = compile_late(r"\s{0,4}(?:---|\[|\()[^\n]{0,400}(?=\n|\Z)")
_OUR_END = "<<<END MIDFOLD "
_MARKER = compile_late(r"\[CONTEXT (?:COMPACTION|SUMMARY)[^\]\n]{0,60}\]", re.IGNORECASE)


def is_summary(text: str, *, by_model: bool = False) -> bool:
    """Whether a text is the summary of a conversation, by its opening and its sections.

    Models end their work with summaries, too. One of a conversation says so in a single line.
    """
    head = text[:_OPENING_CHARS]
    if _MARKER.match(head.lstrip()):
        return True
    if len(text) < _SHORTEST_CHARS:
        return False
    lowered = head.lower()
    if not _holds_any(lowered, _SUMMARY_STEMS) or not _holds_any(lowered, _SUBJECT_STEMS):
        return False
    if not _SUBJECT.search(head):
        return False
    named = _SUMMARY.search(head)
    if named is None or named.start() > _OPENING_CHARS * 0.8:
        return False
    if by_model and not any(_SUBJECT.search(line) and _SUMMARY.search(line) for line in head.split("\n")):
        return False
    return _count_sections(text) >= _LEAST_SECTIONS


def find_fenced(text: str, start: int = 0) -> tuple[int, int] | None:
    """Return where a fenced summary stands in a text: from its marker or fence to its last fence line.

    The line that our own summaries end with is part of it.
    """
    opening = _OURS.search(text, start) if _FENCE_SIGN in text else None
    if opening is None:
        return None
    begin = opening.start()
    line_before = text.rfind("\n", start, max(begin - 1, start)) + 1
    if _MARKER.match(text[max(line_before, start) : begin].lstrip()):
        begin = max(line_before, start)
    closing = text.find(_OUR_END, opening.end())
    stop = text.find("\n", closing) if closing >= 0 else len(text)
    stop = len(text) if stop < 0 else stop
    ending = _ENDING.match(text, stop)
    return begin, ending.end() if ending else stop


def _holds_any(text: str, stems: tuple[str, ...]) -> bool:
    return any(stem in text for stem in stems)


def _count_sections(text: str) -> int:
    count = 0
    for _ in _SECTION.finditer(text):
        count += 1
        if count >= _LEAST_SECTIONS:
            break
    return count
