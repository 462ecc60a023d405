"""The schemas of the lossless engine's tools; their descriptions teach the model when to use which."""

_TOKENS = {
    "type": "integer",
    "description": "the most tokens that the answer may take, 200 to 8000; 2000 unless given",
}
_PAGE = {"type": "integer", "description": "1 unless given; an answer says where more pages follow"}
_SUMMARY = {"type": "string", "description": "the id of a summary, such as sum_0123456789"}

SCHEMAS: tuple[dict[str, object], ...] = (
    {
        "name": "lcm_grep",
        "description": (
            "Search everything that was said in this conversation, also what summaries stand for. "
            "Use it first when you need a detail that you no longer see: a path, a figure, an error, "
            "a decision. "
            "Then read on with lcm_expand."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "words or a question, any word counts; with regex, a regular expression",
                },
                "regex": {"type": "boolean", "description": "whether query is a regular expression (RE2)"},
                "scope": {
                    "type": "string",
                    "enum": ["messages", "summaries", "all"],
                    "description": "where to search; messages unless given",
                },
                "role": {"type": "string", "enum": ["user", "assistant", "tool"]},
                "since": {
                    "type": "string",
                    "description": "only messages since this time, as 2026-01-31T12:00",
                },
                "until": {"type": "string", "description": "only messages before this time"},
                "page": _PAGE,
                "max_tokens": _TOKENS,
            },
            "required": ["query"],
        },
    },
    {
        "name": "lcm_describe",
        "description": (
            "Tell what a summary stands for: which messages, how large, what it is made of. "
            "Cheap; use it to decide whether lcm_expand is worth its tokens."
        ),
        "parameters": {"type": "object", "properties": {"id": _SUMMARY}, "required": ["id"]},
    },
    {
        "name": "lcm_expand",
        "description": (
            "Show what a summary stands for, in pages: the summaries it was condensed from, or the messages "
            "word for word. Or show messages by number: [12] in a summary names message 12."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "id": _SUMMARY,
                "messages": {
                    "type": "string",
                    "description": "instead of an id: numbers such as 12 or 12-20",
                },
                "page": _PAGE,
                "max_tokens": _TOKENS,
            },
        },
    },
    {
        "name": "lcm_expand_query",
        "description": (
            "Answer a question from what a summary stands for, or from the whole conversation: the passages "
            "that answer it best, with their message numbers, and where a model is set up, its answer. "
            "Use it when a question is wider than a search for words."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "id": {"type": "string", "description": "keep to the messages behind this summary"},
                "page": _PAGE,
                "max_tokens": _TOKENS,
            },
            "required": ["question"],
        },
    },
    {
        "name": "lcm_status",
        "description": "List the summaries in your context and how much of the conversation is behind them.",
        "parameters": {"type": "object", "properties": {}},
    },
)
