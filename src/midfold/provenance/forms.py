"""Forms without elements: labels, marks and blocks that clients and tools write, by their shape.

A form is read where a text begins, or a paragraph, never in the middle of a sentence.
"""

import re
from enum import Enum

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.provenance.authors import Author
from midfold.provenance.project_files import find_body_header, find_header

MARK, COMMAND, EDITOR = "mark", "ran", "editor"
"""the sources of a line in brackets, of a command with its output, of an editor's state before a request"""
_LABEL_CHARS = 80
_OPENING_CHARS = 1_500
_TOOL_LABEL = compile_late(
    r"(?:[\w-]{1,24} ){0,2}?(?:[`'\"][^`'\"\n]{1,60}[`'\"] )?(?:\w{1,24}_)?"
    r"(?:observations?|results?|outputs?|stdout|stderr|responses?|returned|executed)"
    r"(?: ?\([^)\n]{0,80}\)| ?\[[^\]\n]{0,80}\]| (?:of|for|from) [^\n:]{0,60})?$",
    re.IGNORECASE,
)
_OWN_LABEL = compile_late(r"\s{0,8}(?:for |in )?(?:each|every|your|my|expected|include)\b", re.IGNORECASE)
_BOXED_LABEL = compile_late(r"\[[^\]\n]{2,200}\][ \t]{0,4}(?:Result|Output|Response|Error)\b", re.IGNORECASE)
# What another agent's words are announced by.
_AGENT_LABEL = compile_late(
    r"(?:message|report|reply|answer|results?|notes?|update|handoff) (?:from|by|of) (?:the |another )?"
    r"(?:[\w-]{1,24} )?(?:sub-?agent|agent|teammate|worker|co-?worker|bot|assistant)\b[^:.!?]{0,40}$",
    re.IGNORECASE,
)
_AGENT_MARK = compile_late(
    r"\b(?:sub-?agent|teammate|worker|agent) ['\"`]?[\w-]{1,24}['\"`]? "
    r"(?:finished|ended|returned|replied|report(?:s|ed)?|completed|answered)",
    re.IGNORECASE,
)
# The name of a tool in brackets, and what it said.
_CALLED = compile_late(r"\[[a-z]{2,16}(?:_[a-z]{2,16}){1,3}\][ \t]\S")
_HOOK_LABEL = compile_late(r"(?:^|[\s:\[(])hooks?\b|^(?:caveat|system(?:[ -]\w{1,12})?)$", re.IGNORECASE)
_MARK = compile_late(r"\[[^\[\]\n]{6,200}\]\.?$")
_MARK_WORDS = compile_late(r"[^\W\d_]{2,}")
_BOXED_NOTICE = compile_late(r"\[(?:[A-Z][A-Z _:-]{3,40}|SYSTEM[^\]\n]{0,60}|System[^\]\n]{0,60})\]")
# What is sent for a program, not for a reader: "###STOP###", "<|endoftext|>", "[DONE]".
_TOKEN = compile_late(
    r"[^\w\s]{2,10}[A-Z][A-Z_-]{2,40}[^\w\s]{2,10}|<\|[\w-]{2,40}\|>|[\[<][A-Z_]{3,40}[\]>]"
)
_LONGEST_TOKEN_CHARS = 60
_RAN = compile_late(r"\S{2,20} `[^`\n]{1,2000}`:?[ \t]*\n[ \t]{0,4}```")
_RAN_AND_GOT = compile_late(
    r"[^\n:.]{2,40}\bcommand\b[^\n:.]{0,20}:[ \t]*\n{1,3}[^\n]{1,2000}\n{1,3}"
    r"[^\n:.]{2,40}\boutput\b[^\n:.]{0,20}:[ \t]*\n",
    re.IGNORECASE,
)
"""a command and its output, both under a line that announces them"""
_ENVIRONMENT = compile_late(
    r"^[^\n]{0,60}?\b(?:date|time|platform|operating system|os version|os|shell"
    r"|(?:working |current |project |root )?(?:temporary )?director(?:y|ies)"
    r"|cwd|workspace|time ?zone|model|ide|git (?:branch|status|repo))\b"
    r"[^\n:=]{0,40}(?::|=| is )",
    re.IGNORECASE | re.MULTILINE,
)
_LEAST_FACTS = 3
# A step of an agent that speaks in labels, with what its tool said.
_LABELLED_STEP = compile_late(
    r"(?:Thought|Action)(?: \d{1,3})?:[^\n]{0,2000}\n(?:[^\n]{0,2000}\n){0,20}?Observation(?: \d{1,3})?:"
)
_EDITOR_HEADING = compile_late(
    r"#{1,3} (?:context|state|information) (?:from|of) (?:my|the|your) (?:ide|editor|workspace|client)\b",
    re.IGNORECASE,
)
_REQUEST_HEADING = compile_late(
    r"^#{1,3} [^\n]{0,40}\b(?:request|task|question|instructions?|prompt)\b[^\n]{0,40}$",
    re.IGNORECASE | re.MULTILINE,
)
_AUTOMATED = compile_late(
    r"\b(?:your|the) (?:last|previous|latest) (?:output|response|message|reply|turn|answer|command|action)\b",
    re.IGNORECASE,
)
_PROTOCOL = compile_late(
    r"\b(?:tool|function) (?:call|use)s?\b|\btool_calls?\b|\bformat(?:ted)?\b|\baction\b|\bexceeded\b"
    r"|\btruncated\b|\boutput limit\b|\btimed out\b",
    re.IGNORECASE,
)
_STATE_TAIL = compile_late(r"(?:\n\([A-Z][^()\n:]{1,40}: [^\n]{0,300}\))+\n?[^\n]{0,60}[$#>%][ \t]*$")
_POINTER_TAIL = compile_late(r"[^\n]{0,600}(?:[/\\~][^\s]{2,300}\.(?:jsonl?|log|output|txt|md))[.)]?\s*$")
_POINTER_WORD = compile_late(
    r"transcript|full (?:output|log|conversation)|output-?file|session (?:log|file)", re.IGNORECASE
)
_REPORT_LABEL = compile_late(
    r"(?:\b(?:issue|feedback|error|errors|message|log|logs|output|report|review|comment|comments|trace"
    r"|stack ?trace|traceback|warning|says|said|description|ticket|email|mail|response|result|quote|excerpt"
    r"|findings?|text|contents? of)\b(?:[^\n:.?!]|\.(?=\w)){0,60}"
    r"|\b(?:fehler|meldung|ausgabe|erreur|sortie|error|salida|mensaje|erro|saída|ошибк\w|вывод)\b"
    r"[^\n:.?!]{0,60}|(?:报错|错误|错误信息|日志|输出|反馈|提示|エラー|ログ|出力|メッセージ|에러|오류|로그|출력|메시지)[^\n:：.?!]{0,30})"
    r"[:：][ \t]*$",
    re.IGNORECASE,
)
# The head of a mail that somebody pasted.
_SENDER = compile_late(
    r"[> \t]{0,4}(?:from|von|de|da|от|发件人|寄件者|差出人|보낸 ?사람)[ \t]?[:：][^\n@]{0,80}@", re.IGNORECASE
)
_ASKING_LABEL = compile_late(
    r"^(?:INSTRUCTIONS?|TASK|TASKS|REQUIREMENTS?|RULES?|TIPS|IMPORTANT(?: \w{1,12})?|NOTES?|REMINDERS?"
    r"|CONSTRAINTS?|GOAL|GUIDELINES)\b[^\n:]{0,40}:",
)
_ISSUE_LABEL = compile_late(
    r"^(?:ISSUE|PROBLEM|BUG|DESCRIPTION|PR|PULL REQUEST|REPORT)(?: \w{1,16}){0,2}:", re.MULTILINE
)
_ISSUE_LETTERS = frozenset("IPBDR")
_LONG_REPORT = compile_late(
    r"issue|feedback|report|review|comment|description|ticket|e?mail|text|finding", re.IGNORECASE
)


# A program puts passages before a person's question, and says so first.
_PASSAGES_WORD = compile_late(
    r"\b(?:context|passages?|documents?|sources?|excerpts?|search results|kontexts?|contexte|contexto"
    r"|contesto)\b"
    r"|контекст|上下文|资料|資料|コンテキスト|문맥",
    re.IGNORECASE,
)
_ANSWER_WORD = compile_late(
    r"\b(?:answer|respond|reply|beantworte|antworte|répond\w*|responde\w*|rispondi)\b|ответ|回答|答え|대답|답변",
    re.IGNORECASE,
)
_QUESTION_LABEL = compile_late(
    r"^(?:#{1,3} )?(?:(?:the |my |final |current )?(?:user(?:'s)? )?(?:question|query)|frage|pregunta"
    r"|pergunta|domanda|вопрос|问题|問題|質問|질문)[ \t]?[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER_LABEL = compile_late(
    r"\n(?:(?:helpful |final |your )?answer|antwort|réponse|respuesta|resposta|risposta|ответ|回答|答え|답변)"
    r"[ \t]?[:：]\s*$",
    re.IGNORECASE,
)
_LEAD_CHARS = 600


def find_question(text: str) -> tuple[int, int] | None:
    """Return where a person's question stands behind the passages that a program put before it."""
    lead = text[:_LEAD_CHARS].lstrip().partition("\n\n")[0]
    if not (_PASSAGES_WORD.search(lead) and _ANSWER_WORD.search(lead)):
        return None
    last = None
    for label in _QUESTION_LABEL.finditer(text, len(lead)):
        last = label
    if last is None:
        return None
    answer = _ANSWER_LABEL.search(text, last.end())
    return last.end(), answer.start() if answer else len(text)


class ReportReach(Enum):
    """How far somebody's words reach behind the line that announces them."""

    SHORT = "to the end of their paragraph"
    LONG = "to the next label of the author's own"


@dataclass(frozen=True, slots=True)
class Opening:
    """Who wrote a block, and what it is known by."""

    author: Author
    source: str = ""


def read_opening(text: str) -> Opening | None:
    """Recognise a whole text by how it begins; `None` for what may be a person's words."""
    bare = text.lstrip()
    first_line = bare.partition("\n")[0].rstrip()
    path = find_header(first_line)
    if path is not None:
        return Opening(Author.PROJECT, path)
    if find_body_header(first_line) is not None:
        return Opening(Author.PROJECT)
    return _read_label(bare, first_line) or _read_block(bare, first_line)


def _read_label(bare: str, first_line: str) -> Opening | None:
    label, colon, _ = bare[:_LABEL_CHARS].partition(":")
    if colon and "\n" not in label:
        if _HOOK_LABEL.search(label):
            return Opening(Author.HOST, "hook")
        if (
            (label[:1].isupper() or label in ("stdout", "stderr"))
            and _TOOL_LABEL.match(label)
            and not _OWN_LABEL.match(label)
        ):
            return Opening(Author.TOOL)
        if _AGENT_LABEL.match(label):
            return Opening(Author.AGENT)
    boxed = first_line[1:-1] if first_line[:1] == "[" and first_line[-1:] == "]" else ""
    if _BOXED_LABEL.match(first_line) or (len(boxed) <= _LABEL_CHARS and _TOOL_LABEL.match(boxed)):
        return Opening(Author.TOOL)
    return None


def _read_block(bare: str, first_line: str) -> Opening | None:
    if len(bare) <= _LONGEST_TOKEN_CHARS and _TOKEN.fullmatch(bare.rstrip()):
        return Opening(Author.HOST, "token")
    if _MARK.match(first_line) and _AGENT_MARK.search(first_line):
        return Opening(Author.AGENT)
    if _CALLED.match(first_line):
        return Opening(Author.TOOL)
    if _MARK.match(first_line) and len(_MARK_WORDS.findall(first_line)) >= 2:
        return Opening(Author.HOST, MARK)
    if _BOXED_NOTICE.match(first_line):
        return Opening(Author.HOST, "notice")
    if _LABELLED_STEP.match(bare):
        return Opening(Author.AGENT, "loop")
    if _EDITOR_HEADING.match(first_line):
        return Opening(Author.HOST, EDITOR)
    if _RAN_AND_GOT.match(bare):
        return Opening(Author.TOOL)
    if _RAN.match(bare):
        return Opening(Author.HOST, COMMAND)
    opening = bare[:_OPENING_CHARS]
    if _count_facts(opening) >= _LEAST_FACTS and not first_line.endswith(("?", "？")):
        return Opening(Author.HOST, "environment")
    if _AUTOMATED.search(opening[:300]) and _PROTOCOL.search(opening[:600]):
        return Opening(Author.HOST, "loop")
    return None


def _count_facts(text: str) -> int:
    """Count the lines that tell of a machine; a text with fewer separators than are needed is not read."""
    separators = text.count(":") + text.count("=") + text.lower().count(" is ")
    if min(separators, text.count("\n") + 1) < _LEAST_FACTS:
        return 0
    return sum(1 for _ in _ENVIRONMENT.finditer(text))


def find_request(text: str) -> int | None:
    """Return where the person's words begin behind an editor's state: below the heading that says so."""
    heading = _REQUEST_HEADING.search(text)
    return heading.end() if heading else None


def find_tail(text: str, start: int, stop: int) -> int:
    """Return where the client's last lines begin: the state of a shell, or a path to read more at."""
    end = start + len(text[start:stop].rstrip())
    last = max(text.rfind("\n\n", start, end) + 2, start)
    has_state = end > start and text[end - 1] in "$#>%"
    state = _STATE_TAIL.search(text, max(start, end - 1_200), end) if has_state else None
    if state is not None:
        return state.start()
    paragraph = text[last:end]
    if _POINTER_WORD.search(paragraph) and _POINTER_TAIL.match(paragraph):
        return last
    return stop


def read_report_label(line: str) -> ReportReach | None:
    """Say whether a line ends by announcing what somebody else wrote, or a machine."""
    if line[:1] in _ISSUE_LETTERS and _ISSUE_LABEL.match(line):
        return ReportReach.LONG
    if "@" in line and _SENDER.match(line):
        return ReportReach.LONG
    if not line.rstrip(" \t").endswith((":", "：")):
        return None
    found = _REPORT_LABEL.search(line[-200:])
    if found is None or _OWN_LABEL.match(line):
        return None
    return ReportReach.LONG if _LONG_REPORT.match(found[0]) else ReportReach.SHORT


def ends_report(line: str) -> bool:
    """Whether a line takes up the author's own words again after a report."""
    return _ASKING_LABEL.match(line) is not None
