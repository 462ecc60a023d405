"""How often a search finds what a person wanted, beside a plain full-text index of the same messages.

Queries come with labels, or as the questions of a LoCoMo file: chats of two people over months, each question
with the turns that answer it. One counts as found when one of its messages is among the first five.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from midfold.documents import read_documents
from midfold.errors import UnreadableTranscript
from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.families import name_family
from midfold.evaluation.labels import Labels
from midfold.evaluation.search_baseline import search_plainly
from midfold.evaluation.tallies import Tally
from midfold.late_dataclasses import dataclass
from midfold.search import Document, SearchIndex

LOOKED_AT = 5
_LOCOMO = "LoCoMo"


@dataclass(frozen=True, slots=True)
class SearchedQuery:
    """A query, and the messages of which one should be found."""

    text: str
    wanted: frozenset[int]


@dataclass(frozen=True, slots=True)
class SearchScore:
    """The queries of one conversation that were answered, by our ranking and by the plain index."""

    conversation: str
    family: str
    found: Tally
    plainly: Tally
    missed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """The same over several conversations; `family` is `None` for all of them."""

    family: str | None
    found: Tally
    plainly: Tally

    @property
    def search(self) -> float | None:
        """The part of the queries that was answered."""
        return self.found.part

    @property
    def search_lead(self) -> float | None:
        """How much more that is than the plain index answers."""
        own, other = self.found.part, self.plainly.part
        return None if own is None or other is None else own - other


def score_search(conversation: MeasuredConversation, labels: Labels) -> SearchScore | None:
    """Search a conversation for what its labels ask; `None` where they ask nothing."""
    queries = [SearchedQuery(label.query, frozenset([label.index])) for label in labels.queries]
    documents = read_documents(conversation.messages)
    family = name_family(conversation.name)
    return _score(conversation.name, family, documents, queries) if queries else None


def score_locomo(path: Path) -> list[SearchScore]:
    """Ask the questions of a LoCoMo file. Raises `UnreadableTranscript` where it is none."""
    try:
        samples = json.loads(path.read_text("utf-8"))
        return [_score_sample(number, sample) for number, sample in enumerate(samples)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableTranscript(str(path), f"no LoCoMo file ({type(error).__name__})") from error


def summarize_search(scores: Sequence[SearchScore]) -> tuple[SearchFigures, ...]:
    """Add up scores: of all, and of each family."""
    families = dict.fromkeys(score.family for score in scores)
    groups: list[tuple[str | None, list[SearchScore]]] = [(None, list(scores))] if scores else []
    groups += [(name, [score for score in scores if score.family == name]) for name in families]
    return tuple(
        SearchFigures(
            name,
            sum((score.found for score in members), Tally()),
            sum((score.plainly for score in members), Tally()),
        )
        for name, members in groups
    )


def _score(
    name: str, family: str, documents: Sequence[Document], queries: Sequence[SearchedQuery]
) -> SearchScore:
    index = SearchIndex(documents)
    texts = ["\n".join((*document.carried, *document.texts)) for document in documents]
    plainly = search_plainly(texts, [query.text for query in queries], LOOKED_AT)
    missed = [
        query.text
        for query in queries
        if query.wanted.isdisjoint(found.number for found in index.search(query.text, LOOKED_AT))
    ]
    answered = sum(not query.wanted.isdisjoint(found) for query, found in zip(queries, plainly, strict=True))
    return SearchScore(
        conversation=name,
        family=family,
        found=Tally(len(queries) - len(missed), len(queries)),
        plainly=Tally(answered, len(queries)),
        missed=tuple(missed),
    )


def _score_sample(number: int, sample: Mapping[str, object]) -> SearchScore:
    turns = list(_turns(sample["conversation"]))
    places = {turn["dia_id"]: place for place, turn in enumerate(turns)}
    first = turns[0]["speaker"]
    documents = [
        Document((f"{turn['speaker']}: {turn['text']}",), "user" if turn["speaker"] == first else "assistant")
        for turn in turns
    ]
    queries = [
        SearchedQuery(str(asked["question"]), wanted)
        for asked in _items(sample["qa"])
        if (wanted := frozenset(_evidence(asked.get("evidence"), places)))
    ]
    return _score(f"locomo-{number}", _LOCOMO, documents, queries)


def _turns(conversation: object) -> Iterator[Mapping[str, str]]:
    """Yield what was said, session after session."""
    if not isinstance(conversation, dict):
        raise TypeError("a conversation is an object")
    numbers = sorted(
        int(key.removeprefix("session_"))
        for key in conversation
        if key.startswith("session_") and key.removeprefix("session_").isdigit()
    )
    for number in numbers:
        yield from _items(conversation[f"session_{number}"])


def _items(value: object) -> list[Mapping[str, str]]:
    if not isinstance(value, list):
        raise TypeError("a list is missing")
    return value


def _evidence(named: object, places: Mapping[str, int]) -> Iterator[int]:
    """Yield the turns that an answer stands in; some files name several in one string."""
    for each in named if isinstance(named, Iterable) and not isinstance(named, str) else ():
        for name in str(each).replace(";", " ").replace(",", " ").split():
            if name in places:
                yield places[name]
