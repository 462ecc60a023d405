"""Probes from files: read as they are, refused with a clear line where they are not."""

import json

import pytest

from midfold.errors import UnreadableTranscript
from midfold.evaluation import ProbeKind, Zone, read_probes

LISTED = {
    "kind": "command",
    "question": 'Which command begins "make"?',
    "answer": "make deploy",
    "evidence_message_index": [4],
    "last_message_index": 9,
    "zone": "middle",
    "must_keep": False,
}


@pytest.fixture
def write(tmp_path):
    def writer(value):
        path = tmp_path / "probes.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return path

    return writer


@pytest.mark.parametrize("value", [{"id": "x", "probes": [LISTED]}, [LISTED]])
def test_probes_are_read_from_an_object_or_a_list(write, value):
    [probe] = read_probes(write(value))
    assert (probe.kind, probe.answer, probe.evidence) == (ProbeKind.COMMAND, "make deploy", (4,))
    assert (probe.zone, probe.must_keep, probe.weight) == (Zone.MIDDLE, False, 3)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("nothing", "no probes can be read"),
        ({"probes": 3}, "no list of probes"),
        ([{**LISTED, "answer": ""}], "probe 0 has no answer"),
        ([LISTED, {**LISTED, "kind": "riddle"}], "probe 1 cannot be used"),
        ([{"answer": "x"}], "probe 0 cannot be used"),
    ],
)
def test_what_is_no_probe_is_named(write, value, reason):
    with pytest.raises(UnreadableTranscript, match=reason):
        read_probes(write(value))


def test_real_probe_files_are_read_whole(data_dir):
    for path in sorted((data_dir / "probes").glob("*.json")):
        assert len(read_probes(path)) == len(json.loads(path.read_bytes())["probes"])
