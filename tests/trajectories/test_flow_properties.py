"""What holds for any run: what is protected stays, what belongs together stays together, nothing grows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.folding.layout import legal_cuts
from midfold.messages import pair_calls
from midfold.testing import Defect, transcript
from midfold.trajectories import CompressionConfig, TrajectoryCompressor
from midfold.trajectories.plan import find_protected
from midfold.wire import parse
from midfold.wire.validate import validate

DIRT = st.frozensets(st.sampled_from([kind for kind in Defect if kind is not Defect.UNKNOWN_KEY]), max_size=3)


@st.composite
def runs(draw):
    made = transcript(
        "sharegpt",
        seed=draw(st.integers(0, 10_000)),
        turns=draw(st.integers(1, 10)),
        parallel=draw(st.integers(1, 4)),
        result_chars=draw(st.sampled_from([50, 400, 2_000])),
        system=draw(st.booleans()),
        thinking=draw(st.booleans()),
        defects=draw(DIRT),
    )
    return [dict(turn) for turn in made]  # a turn said twice is the same object twice there


@st.composite
def configs(draw):
    return CompressionConfig(
        target_max_tokens=draw(st.integers(300, 4_000)),
        summary_target_tokens=draw(st.integers(120, 290)),
        protect_first_system=draw(st.booleans()),
        protect_first_human=draw(st.booleans()),
        protect_first_gpt=draw(st.booleans()),
        protect_first_tool=draw(st.booleans()),
        protect_last_turns=draw(st.integers(1, 6)),
        add_summary_notice=draw(st.booleans()),
        max_passes=draw(st.integers(1, 3)),
    )


def check(compressor, run, turns, metrics):
    """Check everything that is promised about a run that came out."""
    config = compressor.config
    messages = parse(run, "sharegpt")
    start, stop = metrics.turns_compressed_start_idx, metrics.turns_compressed_end_idx
    assert compressor.count_trajectory_tokens(turns) == metrics.compressed_tokens <= metrics.original_tokens
    assert compressor.count_trajectory_tokens(run) == metrics.original_tokens
    assert (len(run), len(turns)) == (metrics.original_turns, metrics.compressed_turns)
    assert metrics.still_over_limit == (metrics.compressed_tokens > config.target_max_tokens)
    assert validate(turns, dialect="sharegpt") == []
    if not metrics.was_compressed:
        assert turns == run
        return
    ids = {id(turn) for turn in turns}
    system = next((place for place, message in enumerate(messages) if message.role == "system"), None)
    gone = [place for place, turn in enumerate(run) if id(turn) not in ids and place != system]
    if id(run[system or 0]) not in ids and not config.protect_first_system:
        gone = sorted({*gone, system or 0})
    assert gone[0] == start
    assert gone[-1] + 1 == stop
    assert len(gone) == metrics.turns_in_compressed_region == metrics.turns_removed + 1
    assert find_protected(messages, config).isdisjoint(gone)
    kept = [place for place in range(len(run)) if place not in gone]
    places = {id(turn): place for place, turn in enumerate(run)}
    order = [places[id(turn)] for turn in turns if id(turn) in places]
    assert order == [place for place in kept if place in order]
    cuts = legal_cuts(messages, pair_calls(messages))
    for place in range(1, len(run)):
        if not cuts[place]:
            assert (place in gone) == (place - 1 in gone)


@given(runs(), configs())
@settings(max_examples=40)
def test_digest_keeps_every_promise(run, config):
    compressor = TrajectoryCompressor(config)
    turns, metrics = compressor.compress_trajectory(run)
    check(compressor, run, turns, metrics)
    assert compressor.compress_trajectory(run) == (turns, metrics)


ANSWERS = st.sampled_from(
    [
        "## Goal\n- Make the meters follow the new rates, as the user asked.",
        "",
        "I cannot help with that.",
        "\n".join(["## Progress", *(f"- step {n}: read src/tariff.py and mended it" for n in range(30))]),
        "words without any heading, and no more than that.",
    ]
)


@given(runs(), configs(), st.lists(ANSWERS, min_size=1, max_size=4))
@settings(max_examples=25)
def test_promises_hold_whatever_a_summariser_says(run, config, answers):
    said = iter(answers * 50)
    compressor = TrajectoryCompressor(config, summarizer=lambda _request: next(said))
    turns, metrics = compressor.compress_trajectory(run)
    check(compressor, run, turns, metrics)
    assert (metrics.failure is not None) <= (turns == run)
