"""What a command invokes is the same however it is spelled."""

import pytest

from midfold.summaries.ledger.commands import read_invocations, unwrap
from midfold.summaries.ledger.invocations import Aim, Invocation
from midfold.summaries.ledger.shell import read_commands, shown_files, sum_up


def invocation(command):
    return read_invocations(command, read_commands(command), "digest")[-1]


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/a.py",
        "cd app && pytest -q tests/a.py",
        "FOO=1 uv run --extra dev pytest -x tests/a.py 2>&1 | tail -20",
        "python -m pytest --tb short tests/a.py | grep FAILED",
        "python3.11 -m pytest tests/a.py; echo done",
        "timeout 60 poetry run pytest tests/a.py -v",
        "bash -lc 'cd app && pytest tests/a.py'",
        ".venv/bin/pytest tests/a.py > out.log",
    ],
)
def test_frames_of_a_command_say_nothing_about_it(command):
    assert invocation(command) == Invocation("pytest", frozenset({"tests/a.py"}), Aim.TEST)


@pytest.mark.parametrize(
    ("command", "program", "aim"),
    [
        ("npm run check 2>&1 | head -50", "npm check", Aim.LINT),
        ("mise run fmt && mise run test:integration", "mise test:integration", Aim.TEST),
        ("go build ./...", "go build", Aim.BUILD),
        ("git -C repo push origin main", "git push", Aim.PUBLISH),
        ("pip3 install asgiref", "pip install", Aim.INSTALL),
        ("npx tsc --noEmit", "tsc", Aim.BUILD),
        ("make ship", "make ship", Aim.NONE),
        ("gh pr checks 222 --json name", "gh pr checks", Aim.NONE),
        ("cd x && grep -rn word src | head", "grep", Aim.LOOK),
        ("test -f a.txt", "test", Aim.LOOK),
        ("git diff --stat", "git diff", Aim.LOOK),
    ],
)
def test_a_program_has_an_aim(command, program, aim):
    found = invocation(command)
    assert (found.program, found.aim) == (program, aim)


def test_a_run_on_everything_is_broad():
    assert invocation("go test ./...").is_broad
    assert invocation("pytest").is_broad
    assert not invocation("go test ./... -run TestOne").is_broad


def test_scripts_in_words_are_told_apart_by_their_words():
    assert invocation("python3 - <<'E'\nprint(1)\nE") == Invocation("python", frozenset({"digest"}))
    assert invocation("cd x && python3 tools/probe.py --fast") == Invocation(
        "python", frozenset({"probe.py"})
    )


def test_a_command_that_a_tool_only_tells_about_is_found():
    assert unwrap("Tool use: **command** • Run command: cargo build -p core") == "cargo build -p core"


@pytest.mark.parametrize(
    "piece", ["bash -c '", "(", "| ", "uv run ", "'a b' ", "sudo ", "\\", "bash -c \"sh -c 'a b'\" "]
)
def test_any_text_is_read(piece):
    assert read_invocations(piece * 2_000, read_commands(piece * 2_000), "d")


def test_what_a_command_names_is_its_target():
    assert invocation("gh pr checks 222").targets == {"222"}
    assert invocation("git push origin main").targets == {"main"}
    assert invocation("pytest --maxretries 3").is_broad


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cd /srv && sed -n '1,40p' src/fees.py", ["src/fees.py"]),
        ("cat a.py b.py 2>/dev/null | head -50", ["a.py", "b.py"]),
        ("nl -ba src/fees.py; echo ---; tail -n 20 log.txt", ["src/fees.py", "log.txt"]),
        ("sed -i 's/a/b/' src/fees.py", []),
        ("cat a.py > b.py", []),
        ("cat a.py | grep fee", []),
        ("cat a.py && make test", []),
        ("ls src", []),
    ],
)
def test_a_command_that_only_shows_files_is_told_by_them(command, files):
    assert shown_files(read_commands(command)) == files


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (
            "git add . && git commit -m \"$(cat <<'EOF'\nfix(fees): round once\n\nWhy.\nEOF\n)\" && git push",
            "git add . && git commit -m \"$(cat <<'EOF' fix(fees): round once )\" && git push",
        ),
        ("cat > t.py << 'EOF'\nimport fees\nEOF\npython t.py", "cat > t.py << 'EOF'; python t.py"),
        ('python -c "\nimport fees\nprint(fees.total())\n"', 'python -c " import fees print(fees.total()) "'),
    ],
)
def test_a_script_is_one_line_without_the_texts_fed_to_it(script, line):
    assert sum_up(script) == line


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("git stash", False),
        ("git stash push -m wip", False),
        ("git stash list", True),
        ("git config lfs.locksverify false", False),
        ("git config user.name", True),
        ("git config --get user.name", True),
        ("git config --unset user.name", False),
        ("git branch -D old", False),
        ("git branch -a", True),
        ("git remote -v", True),
        ("git remote add fork https://forge.example/shop", False),
    ],
)
def test_git_looks_unless_it_sets_something(command, looks):
    tried = read_invocations(command, read_commands(command), "")[-1]
    assert (tried.aim is Aim.LOOK) is looks
