"""Facts about models: windows and prices, from a dated snapshot that ships with the package.

`scripts/refresh_models.py` writes the snapshot. It is read on the first question, not on import.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from midfold.late_dataclasses import dataclass, replace
from midfold.late_patterns import compile_late
from midfold.texts import read_bytes


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per million tokens, by bucket; `None` where no price is known."""

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None


@dataclass(frozen=True, slots=True)
class PriceTier:
    """The prices of a whole request whose prompt is longer than `above_tokens`."""

    above_tokens: int
    prices: Prices


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The facts of a model. `name` is the entry of the snapshot that says so."""

    name: str
    provider: str
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    supports_prompt_caching: bool = False
    prices: Prices | None = None
    tiers: tuple[PriceTier, ...] = ()


VENDORS = (
    "anthropic",
    "openai",
    "gemini",
    "deepseek",
    "moonshot",
    "zai",
    "xai",
    "minimax",
    "meta_llama",
    "cohere_chat",
    "ai21",
    "amazon_nova",
    "mistral",
    "dashscope",
)
"""Providers that make the models they serve, so that their figures speak for the bare name.

Those that also serve other people's models come last.
"""


@lru_cache(maxsize=256)
def find_model(model: str) -> ModelFacts | None:
    """Look a model up under the names people use for it; `None` when it is unknown.

    Providers, regions, versions, dates and tags around the name are seen through; another version or size
    of a model never answers for it.
    """
    name = model.strip().lower()
    bare = bare_name(name)
    found = _find_exact(name) or _index().get(bare) or _index().get(_undated(bare))
    return _as_tagged(name, found) if found else None


def find_nearest_model(model: str) -> ModelFacts | None:
    """Look up a model whose window is known, or else the one it is a variant of by its name.

    Good for windows, not for prices.
    """
    found = find_model(model)
    if found and found.max_input_tokens:
        return found
    name = model.strip().lower()
    near = (_index().get(variant) for variant in _variants_above(bare_name(name)))
    nearest = next((facts for facts in near if facts and facts.max_input_tokens), None)
    return _as_tagged(name, nearest) if nearest else found


def list_models(provider: str) -> list[str]:
    """List the models that a provider serves, as it names them, as far as they are known."""
    rows = _snapshot().models.items()
    return sorted({name.removeprefix(f"{provider}/") for name, row in rows if row.provider == provider})


@cache
def price_steps() -> tuple[int, ...]:
    """Return the lengths of prompts, in tokens, above which some model has other prices."""
    return tuple(sorted({above for row in _snapshot().models.values() for above, _ in row.tiers}))


def snapshot_date() -> str:
    """Return the day the facts were collected, as `YYYY-MM-DD`."""
    return _snapshot().date


def bare_name(name: str) -> str:
    """Strip what stands around a model's own name: provider, region, vendor, version, tag."""
    name = name.rpartition("/")[2]
    if name.startswith("ft:"):
        return ":".join(_folded(name).split(":")[:2])
    name = _REGION_AND_VENDOR.sub("", name)
    name = _DEPLOYMENT.sub("", name)
    return _folded(_TAG.sub("", name))


_REGION_AND_VENDOR = compile_late(
    r"^((us|eu|ap|apac|jp|au|ca|global|us-gov)\.)?"
    r"((ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai"
    r"|qwen|writer|xai|zai)\.)?"
)
_DEPLOYMENT = compile_late(r"(-v\d+)?(-\d+)?(:\d+k?)+$|(?<=\d)-v\d+$")
_TAG = compile_late(
    r"[:@-]latest$|@default$|:(free|beta|extended|nitro|floor|online|thinking|exacto)$|\[\w+\]$"
)
_DATE = compile_late(r"-(\d{8}|\d{4}-\d{2}-\d{2}|00\d)$")  # Gemini numbers its revisions instead
_PREVIEW = compile_late(r"-(preview|exp)(-\d{2}-\d{2,4})?$")


def _folded(name: str) -> str:
    """Write versions and dates one way: `claude-sonnet-4.5` is `claude-sonnet-4-5`."""
    return name.replace(".", "-").replace("@", "-")


def _undated(name: str) -> str:
    return _DATE.sub("", name)


def _find_exact(name: str) -> ModelFacts | None:
    """Look up a name as it is written: with providers in front or without, or behind that of its vendor."""
    models = _snapshot().models
    behind_vendors = (f"{vendor}/{name.rpartition('/')[2]}" for vendor in VENDORS)
    for candidate in (*_without_providers(name), *behind_vendors):
        if candidate in models:
            return _facts(candidate, models[candidate])
    return None


def _variants_above(name: str) -> Iterator[str]:
    """Yield a bare name without date and preview, then without its last part, and so on."""
    name = _PREVIEW.sub("", _undated(name).removeprefix("ft:").partition(":")[0])
    while any(map(str.isdigit, name)):
        yield name
        yield f"{name}-preview"
        name, dash, variant = name.rpartition("-")
        # A part that starts with a digit is a version or a size: gpt-4 must not answer for gpt-4-9.
        if not dash or variant[:1].isdigit():
            return


def _as_tagged(name: str, facts: ModelFacts) -> ModelFacts:
    """Apply what a tag behind the name says of the offer."""
    if name.endswith(":free"):  # the facts of the model, but not its price
        return replace(facts, prices=None, tiers=())
    if name.endswith("[1m]") and "claude" in name:  # as Claude Code asks for the long window
        return replace(facts, max_input_tokens=1_000_000)
    return facts


def _without_providers(name: str) -> Iterator[str]:
    """Yield the name, then without its first path segment, and so on."""
    yield name
    while "/" in name:
        name = name.partition("/")[2]
        yield name


PriceList: TypeAlias = tuple[Decimal | None, ...]
"""in the order of `Prices`; prices nobody knows are left out at the end"""


class ModelRow(NamedTuple):
    """A model in the snapshot; a list there, to keep it small."""

    provider: str
    max_input_tokens: int | None
    max_output_tokens: int | None
    supports_prompt_caching: bool
    prices: PriceList = ()
    tiers: tuple[tuple[int, PriceList], ...] = ()


class ModelSnapshot(NamedTuple):
    """The data file, also a list: the day, where the facts are from, and the models by name."""

    date: str
    source: str
    models: dict[str, ModelRow]


@cache
def _snapshot() -> ModelSnapshot:
    import msgspec  # costs more to import than all of this package, and few processes ask

    return msgspec.json.decode(read_bytes("midfold.tokens", "data/models.json"), type=ModelSnapshot)


@cache
def _index() -> Mapping[str, ModelFacts]:
    """Map bare names to facts; what an undated name lacks is that of the newest of several dates."""
    offers: dict[str, list[ModelFacts]] = {}
    for name, row in _snapshot().models.items():
        offers.setdefault(bare_name(name), []).append(_facts(name, row))
    agreed = {name: _agree(found) for name, found in sorted(offers.items())}
    newest = {_undated(name): facts for name, facts in agreed.items()}
    return newest | {name: _completed(facts, newest.get(name)) for name, facts in agreed.items()}


def _completed(facts: ModelFacts, dated: ModelFacts | None) -> ModelFacts:
    """Take from the dated entry of the same model what nobody says of the undated one."""
    if dated is None or (facts.prices and facts.max_input_tokens):
        return facts
    prices = facts if facts.prices else dated
    return replace(
        facts,
        max_input_tokens=facts.max_input_tokens or dated.max_input_tokens,
        prices=prices.prices,
        tiers=prices.tiers,
    )


def _agree(offers: list[ModelFacts]) -> ModelFacts:
    """Choose what a bare name means: its vendor's own offer, else the commonest window of its hosts.

    A price without its vendor's word is known only when most offers, and more than one, name it.
    """
    windows = Counter(offer.max_input_tokens for offer in offers if offer.max_input_tokens)
    commonest = max(windows, key=lambda window: (windows[window], -window)) if windows else None
    own = [offer for offer in offers if offer.provider in VENDORS]
    if own:
        best = min(own, key=lambda offer: VENDORS.index(offer.provider))
        return best if best.max_input_tokens else replace(best, max_input_tokens=commonest)
    chosen = next(offer for offer in offers if offer.max_input_tokens == commonest)
    named = Counter((offer.prices, offer.tiers) for offer in offers if offer.prices)
    for (prices, tiers), votes in named.most_common(1):
        if votes > 1 and votes * 2 > named.total():
            return replace(chosen, prices=prices, tiers=tiers)
    return replace(chosen, prices=None, tiers=())


def _facts(name: str, row: ModelRow) -> ModelFacts:
    return ModelFacts(
        name,
        row.provider,
        row.max_input_tokens,
        row.max_output_tokens,
        supports_prompt_caching=row.supports_prompt_caching,
        prices=Prices(*row.prices) if row.prices else None,
        tiers=tuple(PriceTier(above_tokens, Prices(*prices)) for above_tokens, prices in row.tiers),
    )
