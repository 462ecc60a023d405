"""`midfold eval`: one command, a table against the baselines."""

import json

import pytest

TRANSCRIPT = "tests/transcripts/openai-chat-flaky-test.json"
OTHER = "tests/transcripts/anthropic-refactor.json"


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch, pytestconfig):
    monkeypatch.chdir(pytestconfig.rootpath)


def test_the_table_compares_the_methods_at_each_ratio(run):
    status, out, err = run("eval", TRANSCRIPT, "--ratio", 0.5, "--ratio", 0.3)
    assert (status, err) == (0, "")
    for words in ("to 50 % of the size", "to 30 % of the size", "midfold digest", "newest only", "must-keep"):
        assert words in out


def test_a_study_has_ratios_of_its_own(run, labelled):
    _, out, _ = run("eval", labelled / "corpus", "--all", "--json")
    values = json.loads(out)
    ratios = {study: {one["ratio"] for one in values[study]} for study in ("figures", "chains", "truth")}
    assert ratios == {"figures": {0.1, 0.05, 0.025}, "chains": {0.1}, "truth": {0.1, 0.05}}


def test_json_has_every_probe_of_every_conversation(run):
    status, out, _ = run("eval", TRANSCRIPT, OTHER, "--ratio", 0.4, "--json")
    values = json.loads(out)
    assert status == 0
    assert {score["conversation"] for score in values["conversations"]} == {
        "openai-chat-flaky-test",
        "anthropic-refactor",
    }
    assert all(score["probes"] for score in values["conversations"])


def test_a_missed_gate_is_one_line_and_status_1(run):
    status, _, err = run("eval", TRANSCRIPT, "--ratio", 0.3, "--gate", "verbatim=1.01", "--gate", "lost=1")
    assert status == 1
    assert err.startswith("midfold: gate missed: verbatim at least 1.01; it is ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (TRANSCRIPT, "--ratio", "2"),
        (TRANSCRIPT, "--gate", "beauty=1"),
        (TRANSCRIPT, "--gate", "verbatim@0.7=1"),
        (TRANSCRIPT, "--gate", "chain_task=1"),
        (TRANSCRIPT, "--chains", "--gate", "chain_task@0.05=1"),
        (TRANSCRIPT, "--gate", "facts_3=1"),
        (TRANSCRIPT, "--future", "--gate", "verbatim=1"),
        (TRANSCRIPT, "--future", "--gate", "future@0.05=1"),
        (TRANSCRIPT, "--truth"),
        (TRANSCRIPT, "--truth", "--labels", "nowhere"),
        (TRANSCRIPT, "--probes", "nowhere"),
        ("pyproject.toml",),
    ],
)
def test_bad_usage_is_status_2(run, arguments):
    status, out, err = run("eval", *arguments)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith("midfold: ")


def test_what_is_no_transcript_is_a_warning_not_the_end(run, tmp_path):
    (tmp_path / "notes.json").write_text('{"a": 1}', "utf-8")
    status, out, err = run("eval", tmp_path / "notes.json", TRANSCRIPT, "--ratio", 0.4)
    assert status == 0
    assert err.startswith("midfold: notes.json: left out: ")
    assert err.count("\n") == 1
    assert out.startswith("1 conversation, ")


def test_a_folder_is_searched_and_limited(run):
    _, out, _ = run("eval", "tests/transcripts", "--ratio", 0.4, "--limit", 2, "--json")
    assert len({score["conversation"] for score in json.loads(out)["conversations"]}) == 2


def test_probes_beside_the_corpus_are_used(run, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "probes").mkdir()
    messages = [{"role": "user", "content": "Keep the word xyzzy."}] + [
        {"role": role, "content": f"{role} {number} " * 40}
        for number in range(30)
        for role in ("assistant", "user")
    ]
    (tmp_path / "corpus" / "talk.json").write_text(json.dumps({"messages": messages}), "utf-8")
    listed = {
        "kind": "constraint",
        "question": "Which word?",
        "answer": "xyzzy",
        "evidence_message_index": [0],
        "zone": "middle",
        "must_keep": True,
    }
    (tmp_path / "probes" / "talk.json").write_text(json.dumps({"probes": [listed]}), "utf-8")
    _, out, _ = run("eval", tmp_path / "corpus", "--ratio", 0.4, "--json")
    [probe] = json.loads(out)["conversations"][0]["probes"]
    assert probe["answer"] == "xyzzy"


def test_the_page_is_written_with_its_chain_chart(run, tmp_path):
    page = tmp_path / "report.html"
    status, out, _ = run("eval", OTHER, "--ratio", 0.4, "--chains", "--html", page)
    assert status == 0
    assert "Fold upon fold" in out
    assert "polyline" in page.read_text("utf-8")


def test_a_page_that_cannot_be_written_is_one_clear_line(run, tmp_path):
    status, _, err = run("eval", OTHER, "--ratio", 0.4, "--html", tmp_path / "no" / "page.html")
    assert status == 2
    assert "--html" in err


@pytest.fixture
def labelled(tmp_path):
    """A conversation whose labels call one of its sentences no rule."""
    for folder in ("corpus", "gold"):
        (tmp_path / folder).mkdir()
    messages = [
        {"role": "user", "content": "Count the sheep. Never open the north gate."},
        *(
            {"role": role, "content": f"{role} counts {number} sheep " * 30}
            for number in range(20)
            for role in ("assistant", "user")
        ),
    ]
    labels = {
        "authors": [{"index": 0, "author": "person"}],
        "not_rules": [{"index": 0, "text": "Never open the north gate.", "why": "said in jest"}],
        "facts": [{"index": 5, "answer": "no such words", "category": "result", "importance": 3}],
    }
    (tmp_path / "corpus" / "sheep.json").write_text(json.dumps({"messages": messages}), "utf-8")
    (tmp_path / "gold" / "sheep.json").write_text(json.dumps(labels), "utf-8")
    return tmp_path


def test_truth_prints_each_wrong_entry_and_what_is_missing(run, labelled):
    status, out, err = run("eval", labelled / "corpus", "--truth", "--missing", "--ratio", 0.3)
    assert (status, err) == (0, "")
    assert "wrong per 100 entries" in out
    assert "missing: [5] result" in out
    assert "midfold digest" not in out  # the comparison was not asked for


def test_labels_that_cannot_be_used_are_a_warning(run, labelled):
    (labelled / "gold" / "sheep.json").write_text('{"rules": [{}]}', "utf-8")
    status, _, err = run("eval", labelled / "corpus", "--truth", "--ceilings")
    assert status == 2
    assert err.startswith("midfold: sheep.json: left out: rules[0] has no number 'index'")


def test_studies_are_measured_together_and_have_gates(run):
    status, out, err = run(
        "eval", OTHER, "--future", "--ceilings", "--engine", "--json", "--gate", "unmet_ceilings=-1"
    )
    values = json.loads(out)
    assert status == 1
    assert err.startswith("midfold: gate missed: unmet_ceilings at most -1; it is ")
    assert {"future", "ceilings"} <= set(values)
    assert values["figures"] == []


def test_all_measures_everything(run, labelled):
    _, out, _ = run("eval", labelled / "corpus", "--all", "--ratio", 0.3, "--json")
    assert {"figures", "chains", "truth", "ceilings"} <= set(json.loads(out))
