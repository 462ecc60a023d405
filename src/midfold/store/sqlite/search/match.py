"""A query for the index of SQLite: no text of it reaches the database but inside quotation marks."""

from typing import assert_never

from midfold.store.search.query import AllOf, AnyOf, Node, Phrase, Without


def to_match(tree: Node | None) -> str:
    """Return the expression for `MATCH`; empty where nothing is asked for."""
    match tree:
        case None:
            return ""
        case Phrase(text, is_prefix):
            quoted = f'"{text.replace(chr(34), chr(34) * 2)}"'
            return f"{quoted} *" if is_prefix else quoted
        case AllOf(parts):
            return f"({' AND '.join(map(to_match, parts))})"
        case AnyOf(parts):
            return f"({' OR '.join(map(to_match, parts))})"
        case Without(wanted, unwanted):
            return f"({to_match(wanted)} NOT {to_match(unwanted)})"
        case _:
            assert_never(tree)
