"""Wrong uses, as people make them: each is one clear line that names what to do, and a status."""

import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# arguments, and words that the line must say
WRONG = [
    ("compres x.json", "did you mean midfold compress?"),
    ("sesions list", "did you mean midfold sessions?"),
    ("frobnicate", "see midfold --help"),
    ("sessions lst", "list"),
    ("config chek", "check"),
    ("--verson", "--version"),
    ("doctor --fixx", "--fix"),
    ("plugins --jsn", "--json"),
    ("inspect nothere.json", "nothere.json: No such file"),
    ("inspect empty.json", "it is empty"),
    ("inspect bad.json", "it is not JSON"),
    ("inspect x.json --dialect openai", "openai_chat"),
    ("inspect x.json --row 3", "holds one conversation"),
    ("inspect x.json --top -1", "from 0 on"),
    ("inspect x.json --context-length 0", "from 1 on"),
    ("inspect x.json --context-length lots", "20k"),
    ("inspect nokey.json", "messages, input or conversations"),
    ("inspect", "name a transcript"),
    ("compress x.json", "give either --max-tokens or --context-length"),
    ("compress x.json --max-tokens -5", "from 1 on"),
    ("compress x.json --max-tokens 9k --context-length 9k", "give either"),
    ("compress x.json --max-tokens 9k --summary-model gpt-5", "did you mean openai/gpt-5?"),
    ("compress x.json --max-tokens 9k --summary-model opnai/gpt-5", "did you mean openai/gpt-5?"),
    ("compress x.json --max-tokens 9k --summary-model nope", "any name will do with a base URL"),
    ("compress x.json --max-tokens 9k --summary-model openai/gpt-5", "export OPENAI_API_KEY="),
    ("compress x.json --max-tokens 9k --summary-model x --base-url localhost:1", "http://127.0.0.1:8080/v1"),
    ("compress x.json --max-tokens 9k --summary-model x --base-url ftp://host", "https:// or http://"),
    ("compress x.json --max-tokens 9k --strategy all", "'staged'"),
    ("compress x.json --max-tokens 9k -o nowhere/x.json", "nowhere"),
    ("compress x.json rows.jsonl --max-tokens 9k -o out.json", "folder"),
    ("compress x.json --max-tokens 9k --losses 0", "from 1 on"),
    ("compress x.json --max-tokens 9k -o x.json", "another file than the transcript itself"),
    ("compress nokey.json --max-tokens 9k", "nokey.json: unknown message format"),
    ("models forget nosuch", "no window of nosuch was learnt"),
    ("keys create ci --budget lots", "'lots' is no amount"),
    ("compact", "name a transcript"),
    ("compact x.json", "midfold compress takes it"),
    ("compact nokey.json", "nokey.json: unknown message format"),
    ("compact x.json y.json", "y.json"),
    (
        "inspect half.jsonl",
        "line 2 is not JSON: Expecting property name enclosed in double quotes at column 2",
    ),
    ("inspect binary.json", "is not UTF-8"),
    ("inspect numbers.json", "expected an object, found a number"),
    ("inspect folder", "no session of Claude Code or Codex"),
    ("inspect x.json --context-length 99999999999999999999", "20k"),
    ("compress x.json --max-tokens 9k -o /proc/x.json", "a file that can be written"),
    ("compress x.json --max-tokens 9k --as session -o s.jsonl", "no session of Claude Code or Codex"),
    ("chat why did it fail", "midfold chat -p 'why did it fail'"),
    ("sessions import folder", "folder"),
    ("serve --port 99999", "from 0 to 65,535"),
    ("serve --host 0.0.0.0", "midfold keys create"),
    ("keys revoke nosuch", "midfold keys list"),
    ("eval x.json --gate verbatm=1", "a figure such as verbatim"),
    ("trajectories rows.jsonl -o out.jsonl --config nothere.yaml", "a YAML or TOML file"),
    ("trajectories rows.jsonl -o out.jsonl --tokenizer nope", "tokenizer.json"),
    ("chat --model opnai/gpt-5 -p hi", "did you mean openai/gpt-5?"),
    ("chat --model openai/gpt-5 -p hi", "export OPENAI_API_KEY="),
    ("chat --model x --base-url foo -p hi", "http://127.0.0.1:8080/v1"),
    ("chat --json", "--json needs -p"),
    ("chat --resume nothere", "there is no session 'nothere'"),
    ("chat --model openai/gpt-5 --context-length none", "20k"),
    ("chat --model openai/gpt-5 --workspace nothere", "does not exist"),
    ("sessions show", "ID"),
    ("sessions show nothere", "there is no session 'nothere'"),
    ("sessions show latest", "midfold sessions import FILE"),
    ("sessions search", "QUERY"),
    ("sessions search --limit 3 --", "QUERY"),
    ("sessions search x --role bot", "there are user, assistant, tool, system"),
    ("sessions search x --role asistant", "did you mean assistant?"),
    ("sessions search x --since lately", "7d or 2h"),
    ("sessions search x --limit 0", "from 1 to 1,000"),
    ("sessions search x --letters", "--session"),
    ("sessions import", "FILE"),
    ("sessions import nothere.json", "nothere.json: No such file"),
    ("sessions import bad.json", "it is not JSON"),
    ("sessions export nothere", "there is no session"),
    ("sessions delete nothere --yes", "there is no session"),
    ("sessions prune --older-than soon", "7d or 2h"),
    ("sessions prune --keep-bytes many", "500MB"),
    ("sessions undo nothere", "there is no session"),
    ("sessions notes nothere", "there is no session"),
    ("usage nothere", "there is no session"),
    ("insights --days 0", "from 1 to 36,500"),
    ("insights --by week", "'day', 'model', 'source'"),
    ("insights --svg nowhere/x.svg", "nowhere/x.svg: No such file"),
    ("config check --path nothere.yaml", "nothere.yaml is missing"),
    ("config check --path engine.yaml", "did you mean compressor?"),
    ("config check --path model.yaml", "did you mean openai/gpt-5?"),
    ("config check --path key.yaml", "expected compression"),
    ("config show --path key.yaml", "expected compression"),
    ("eval", "PATH"),
    ("eval x.json --ratio 2", "between 0 and 1"),
    ("eval x.json --gate foo", "KEY=VALUE"),
    ("trajectories", "IN"),
    ("trajectories nothere.jsonl -o out.jsonl", ".jsonl"),
    ("trajectories rows.jsonl", "--dry-run"),
    ("trajectories rows.jsonl -o rows.jsonl", "outside of IN"),
    ("trajectories rows.jsonl -o out.jsonl --sample lots", "10%"),
    ("trajectories rows.jsonl -o out.jsonl --target-max-tokens 0", "from 1 on"),
    ("trajectories rows.jsonl -o out.jsonl --summary-model nope", "provider/model"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files that are wrong in different ways, and no key."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    shutil.copy(ROOT / "examples" / "transcripts" / "parking-meter.json", "x.json")
    files = {
        "empty.json": "",
        "bad.json": '{"messages": [',
        "nokey.json": '{"a": 1}',
        "rows.jsonl": json.dumps({"conversations": [{"from": "human", "value": "hi"}]}) + "\n",
        "engine.yaml": "context:\n  engine: compresor\n",
        "model.yaml": "model:\n  name: opnai/gpt-5\n",
        "key.yaml": "compresion:\n  threshold: 0.5\n",
        "half.jsonl": '{"role": "user", "content": "hi"}\n{broken\n',
        "numbers.json": "[1, 2]",
    }
    for name, text in files.items():
        Path(name).write_text(text, "utf-8")
    Path("binary.json").write_bytes(b"\x89PNG\r\n" + bytes(range(256)))
    Path("folder").mkdir()
    return tmp_path


def test_there_are_sixty_of_them():
    assert len({line for line, _ in WRONG}) >= 60


@pytest.mark.parametrize(("line", "words"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_use_is_one_clear_line(line, words, run, folder):
    before = sorted(path.name for path in folder.iterdir())
    status, out, err = run(*line.split())
    assert status in (1, 2)
    assert words in err
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("midfold: ")
    assert sorted(path.name for path in folder.iterdir() if path.name != "midfold-home") == before


def test_an_empty_name_is_not_this_folder(run, folder):
    status, out, err = run("inspect", "")
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_a_folder_is_imported_file_by_file(run, folder):
    shutil.copy("x.json", "folder/one.json")
    Path("folder/two.json").write_text('[{"role": "user", "content": "hello"}]', "utf-8")
    status, out, _ = run("sessions", "import", "folder")
    assert (status, len(out.splitlines())) == (0, 2)


def test_what_is_imported_again_says_so(run, folder):
    run("sessions", "import", "x.json")
    status, out, _ = run("sessions", "import", "x.json")
    assert (status, "already here" in out) == (0, True)


def test_a_document_that_is_called_lines_is_read_as_what_it_is(run, folder):
    document = json.loads(Path("x.json").read_text("utf-8"))
    Path("pretty.jsonl").write_text(json.dumps(document, indent=2), "utf-8")
    assert run("inspect", "pretty.jsonl", "--json")[0] == 0


def test_unknown_models_of_known_providers_are_noted(run, folder):
    Path("new.yaml").write_text("model:\n  name: openai/gpt-5-minni\n", "utf-8")
    status, out, _ = run("config", "check", "--path", "new.yaml")
    assert status == 0
    assert "did you mean openai/gpt-5-mini?" in out


def test_a_search_for_nothing_is_refused(run, folder):
    status, out, err = run("sessions", "search", " ")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "QUERY is empty" in err


def test_a_check_lists_unknown_names_beside_values_that_are_wrong(run, folder):
    text = "compression:\n  threshold: 5\ncontext:\n  engine: nope\nmodel:\n  fallback: opnai/gpt-5\n"
    Path("many.yaml").write_text(text, "utf-8")
    status, _, err = run("config", "check", "--path", "many.yaml")
    named = [line.split()[1] for line in err.splitlines()]
    assert (status, named) == (2, ["compression.threshold", "context.engine", "model.fallback"])


def test_a_key_with_a_line_break_names_its_variable(run, folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one\ntwo")
    status, out, err = run("chat", "--model", "openai/gpt-5", "-p", "hi")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "OPENAI_API_KEY is ApiKey(***)" in err
    assert "sk-one" not in err
