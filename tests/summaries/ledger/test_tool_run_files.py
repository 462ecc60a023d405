"""Files that a command writes to, and everything that only looks as if it did."""

import pytest

from midfold.summaries.ledger.shell import is_path, patched_files, written_files
from support.pace import is_linear


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("echo x > out.txt", ["out.txt"]),
        ("echo x >> logs/out.log 2>&1", ["logs/out.log"]),
        ("make &> all.log", ["all.log"]),
        ("make 1> all.log", ["all.log"]),
        ("echo x >| /srv/x.txt", ["/srv/x.txt"]),
        ("echo x >'out.txt'", ["out.txt"]),
        ('echo x > "out.txt"', ["out.txt"]),
        ("cat > src/a.py <<'EOF'\nprint(1)\nEOF", ["src/a.py"]),
        ("cat <<EOF > src/a.py\nx\nEOF", ["src/a.py"]),
        ("make | tee build.log", ["build.log"]),
        ("make | tee -a build.log", ["build.log"]),
        ("sed -i -e 4d src/a.py", ["src/a.py"]),
        ("sed -i.bak 4d src/a.py", ["src/a.py"]),
        ("cd x && sed -i '4d' src/a.py", ["src/a.py"]),
        ("perl -pi -e 1 z.txt", ["z.txt"]),
        ("mv old.py new.py", ["old.py", "new.py"]),
        ("touch a.py b.py", ["a.py", "b.py"]),
        ("rm -f src/a.py", ["src/a.py"]),
        ("sudo rm /etc/x.conf", ["/etc/x.conf"]),
        ("gofmt -w x.go", ["x.go"]),
        ("prettier --write x.ts", ["x.ts"]),
        ("python -c \"open('w.txt', 'w').write('x')\"", ["w.txt"]),
        ("python - <<'E'\nfrom pathlib import Path\nPath('p.txt').write_text('x')\nE", ["p.txt"]),
        ("node -e \"fs.writeFileSync('n.js', 1)\"", ["n.js"]),
        ("git apply <<'E'\n--- a/x.py\n+++ b/x.py\n@@\nE", ["x.py"]),
        ("apply_patch <<'E'\n*** Begin Patch\n*** Update File: y.py\n*** End Patch\nE", ["y.py"]),
        ("echo 1 > a.txt; echo 2 > b.txt && echo 3 > a.txt", ["a.txt", "b.txt"]),
    ],
)
def test_what_a_command_writes_is_found(command, files):
    assert written_files(command) == files


@pytest.mark.parametrize(
    "command",
    [
        "make 2>&1",
        "make > /dev/null",
        "make > /dev/null 2>&1",
        "make >&2",
        "grep -rn 'a -> b.c' src",
        "grep '=> x.y' src",
        "if [ $x > 3 ]; then echo; fi",
        "awk '$3 > 5 {print}' data.csv",
        "python -c 'print(1 if x > 3 else 2)'",
        "curl https://example.com/a/b.html",
        "open https://example.com/a.html",
        "pip install 'foo>=1.2'",
        "sed -n '1,5p' a.py",
        "cat a.py | grep x",
        "black --check src/a.py",
        "ls -la",
        "python -c \"open('r.txt').read()\"",
        "git log --format='%h -> %s'",
        "",
    ],
)
def test_what_writes_nothing_changes_nothing(command):
    assert written_files(command) == []


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("sed -i 's/foo/bar/g' src/a.py", ["src/a.py"]),
        ("perl -pi -e 's/foo/bar/g' src/a.py", ["src/a.py"]),
        ("cat > page.html <<'E'\n<b>foo.bar</b>\nE", ["page.html"]),
        ("cat > notes.md <<'E'\n> see\n> other.md\nE", ["notes.md"]),
        ("echo 'if total > self.limit' ", []),
        ("cp a.py b.py", ["b.py"]),
        ('echo x > "my file.txt"', ["my file.txt"]),
        ("make | tee a.log b.log", ["a.log", "b.log"]),
        ("git mv a.py b.py", ["a.py", "b.py"]),
        ("curl -o out.json https://example.com/y", ["out.json"]),
        ("black src/a.py", ["src/a.py"]),
    ],
)
def test_what_a_command_writes_is_told_from_what_it_quotes(command, files):
    assert written_files(command) == files


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's|a|b|' f.py",
        "sed -i 's/a/b/;s/c/d/' f.py",
        "sed -i 's/<x>/y/' f.py",
        "sed -i '/x/d' f.py",
        "perl -pi -e 's/a && b/c/' f.py",
        "if true; then rm f.py; fi",
    ],
)
def test_a_script_in_quotes_does_not_hide_the_file_it_changes(command):
    assert written_files(command) == ["f.py"]


@pytest.mark.parametrize(
    "text", ["a.py", "src/a.py", "/etc/hosts", "~/x", "./run.sh", "C:\\x\\y.txt", "Makefile", ".gitignore"]
)
def test_paths_are_known_as_such(text):
    assert is_path(text)


@pytest.mark.parametrize(
    "text", ["", "a", "hello world", "https://a.b/c.html", "3.14", "x" * 400, "a\nb.py", "--flag", "foo()"]
)
def test_other_texts_are_no_paths(text):
    assert not is_path(text)


def test_the_files_of_a_patch_are_listed_once():
    patch = "--- a/x.py\n+++ b/x.py\n@@\n--- a/y.py\n+++ b/y.py\n--- a/x.py\n+++ b/x.py\n"
    assert patched_files(patch) == ["x.py", "y.py"]


@pytest.mark.parametrize(
    "piece", ["> ", "tee ", "sed -i a.py;", "open('", "a", "/a", ">a.b", "mv a", "+++ b/x\n"]
)
def test_hostile_commands_are_read_in_no_time(piece):
    assert is_linear(lambda size: written_files(piece * (size // len(piece))), 1_000_000)


@pytest.mark.parametrize("piece", ["a", "/", "/a", ".a", "a.", "\\", "-"])
def test_hostile_paths_are_looked_at_in_no_time(piece):
    assert is_linear(lambda size: is_path(piece * size), 100_000)
    assert is_linear(lambda size: [is_path(piece * (300 // len(piece))) for _ in range(size)], 80)
