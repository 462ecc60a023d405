"""Reads what a shell line invokes: which program, at what, to what end; the same however it is spelled.

`cd app && FOO=1 uv run pytest -q tests/a.py 2>&1 | tail -5` is `pytest` at `tests/a.py`, a test.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from midfold.late_patterns import compile_late
from midfold.summaries.ledger.invocations import SCRIPT_RUNNERS, SHELLS, Aim, Invocation
from midfold.summaries.ledger.shell import ShellCommand, read_commands, without_leads

# Words before a program that run it in some environment, and options of theirs that take a value.
_RUNNERS = frozenset({"npx", "bunx", "pnpx", "xvfb-run", "stdbuf", "nice", "unbuffer", "doas", "command"})
_RUN_TOOLS = frozenset(
    {"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "bundle", "npm", "pnpm", "yarn"}
)
_RUN_WORDS = {"run": ("npm", "pnpm", "yarn"), "exec": (), "dlx": ()}
_SHELL_SCRIPT = compile_late(r"-\w{0,3}c")
_VALUE_OPTIONS_WORDS = """
    -C --prefix --cwd --dir --manifest-path --project --with --extra --python --group -n --config -c -o
    --timeout --tags -tags -timeout -count --settings --reporter --color --tb --maxfail -j --jobs -f
    --file --profile
"""
_VALUE_OPTIONS = frozenset(_VALUE_OPTIONS_WORDS.split())
_TARGET_OPTIONS = frozenset(
    {"-run", "-k", "-p", "--package", "-t", "--testNamePattern", "--grep", "--test", "--filter"}
)
_SUBCOMMANDS_WORDS = """
    go cargo git npm pnpm yarn bun deno mise make just docker docker-compose kubectl gh dotnet mvn
    gradle gradlew terraform pip pipx uv apt apt-get brew rake tox nox hatch poetry swift mix stack
    bazel zig rails ruff pre-commit composer flutter dart nix task invoke turbo nx lerna helm aws gcloud
    systemctl conda
"""
_SUBCOMMANDS = frozenset(_SUBCOMMANDS_WORDS.split())
_TRIVIAL_WORDS = """
    cd export set source . echo printf sleep mkdir pushd popd true false exit wait trap unset ulimit :
    Write-Host Set-Location clear date pwd env printenv chcp
"""
_TRIVIAL = frozenset(_TRIVIAL_WORDS.split())
_LOOKS_WORDS = """
    grep egrep fgrep rg ag ack ls dir ll find fd test [ [[ which where whereis type cat bat head tail
    sed awk wc stat file diff cmp tree du df ps pgrep lsof less more nl jq od xxd strings readlink
    realpath basename dirname sort uniq cut Get-ChildItem Get-Content Test-Path Select-String Get-Item
    gci man id whoami uname goto open view scroll_up scroll_down search_file search_dir find_file
"""
_LOOKS = frozenset(_LOOKS_WORDS.split())
_GIT_LOOKS_WORDS = """
    grep diff log show status ls-files rev-parse branch check-ignore blame remote describe config
    ls-remote merge-base rev-list show-ref stash
"""
_GIT_LOOKS = frozenset(_GIT_LOOKS_WORDS.split())
_CONFIG_SHOWS = frozenset({"--get", "--get-all", "--list", "-l", "--get-regexp"})
_CONFIG_UNSETS = frozenset({"--unset", "--unset-all", "--remove-section"})
_REMOVES_OR_ADDS = frozenset(
    {"-d", "-D", "-m", "-M", "--delete", "--move", "add", "set-url", "remove", "rename"}
)
_WORD = compile_late(r"[A-Za-z]+")
_AIM_WORDS: tuple[tuple[Aim, frozenset[str]], ...] = tuple(
    (aim, frozenset(words.split()))
    for aim, words in (
        (Aim.PUBLISH, "push publish deploy release"),
        (Aim.INSTALL, "install ci add sync restore"),
        (
            Aim.LINT,
            "lint eslint ruff mypy pyright flake pylint clippy vet fmt format prettier black isort golangci"
            " biome check typecheck stylelint rubocop",
        ),
        (
            Aim.TEST,
            "test tests pytest jest vitest mocha rspec phpunit unittest tox nox ctest nextest playwright"
            " cypress spec runtests trial nosetests",
        ),
        (
            Aim.BUILD,
            "build compile tsc webpack gcc clang javac rustc cmake ninja make rollup esbuild msbuild",
        ),
    )
)
_INSTALLERS_WORDS = """
    pip npm pnpm yarn bun cargo apt brew uv pipx composer gem go poetry conda mix dotnet
"""
_INSTALLERS = frozenset(_INSTALLERS_WORDS.split())
_BUILDS = frozenset({"cargo check", "make", "go run", "cargo run"})
_WRAPPED = compile_late(r"\bcommand: +(\S.*)", re.DOTALL)
_VERSION = compile_late(r"(?<=[a-z])\d+(?:\.\d+)*$")
_NUMBER = compile_late(r"[\d.]+[smhkMG]?")
_IDLE_WORDS = ("origin", "upstream", "0", "1", "2")
"""remotes, and the numbers of streams"""
_DEEP = frozenset({"gh", "aws", "gcloud"})
"""programs whose commands take two words"""
_BLANK = compile_late(r"\s")
_MOST_TARGETS = 12
_OR = compile_late(r"\\?\||\s(?:or|and)\s")
"""what parts names in a choice: `-run "A|B"`, `-k "a or b"`"""
_WRAPPED_CHARS = 2_000


_SHELL_WORDS, _SHELL_OPTION = 3, compile_late(r"-\w{0,3}c|/[cC]")
_COMMAND_IN_CODE = compile_late(
    r"\(\s{0,4}\{\s{0,4}\"?(?:cmd|command)\"?\s{0,2}:\s{0,2}\"((?:[^\"\\]|\\.){1,20000})\""
)
"""a program whose one call runs a shell command"""
_CODE_CHARS = 30_000


def read_invocations(text: str, commands: Sequence[ShellCommand], digest: str) -> list[Invocation]:
    """Return what a shell line tries, the decisive one last; only a look where it tries nothing.

    `digest` stands for the script where one is given in words.
    """
    found = [invocation for command in _unnest(commands) if (invocation := _read(command, digest))]
    tries = [invocation for invocation in found if invocation.aim is not Aim.LOOK]
    tries.sort(key=lambda invocation: invocation.aim is not Aim.NONE)
    return tries or found[-1:] or [Invocation(text.strip()[:40])]


def _unnest(commands: Sequence[ShellCommand]) -> Iterator[ShellCommand]:
    """Yield commands, and in place of a shell that is given a script the commands of that."""
    for command in commands:
        if SHELLS.isdisjoint(command.words):
            yield command
            continue
        words = _find_program(without_leads(command.words))
        is_script = len(words) == 1 and words != command.words and _BLANK.search(words[0])
        yield from read_commands(words[0]) if is_script else [command]


def unwrap(text: str) -> str:
    """Return the command that a tool only tells about, as in `Run command: make`."""
    wrapped = _WRAPPED.search(text[:_WRAPPED_CHARS])
    return wrapped[1] if wrapped else text


def find_script(command: object) -> object:
    """Return the command of a shell that is given as a list, or as a text in a program that only runs it."""
    if (
        isinstance(command, list)
        and len(command) == _SHELL_WORDS
        and _SHELL_OPTION.fullmatch(str(command[1]))
    ):
        return command[2]
    told = _COMMAND_IN_CODE.search(command[:_CODE_CHARS]) if isinstance(command, str) else None
    if told is None:
        return command
    try:
        return str(json.loads(f'"{told[1]}"'))
    except ValueError:
        return told[1]


def _read(command: ShellCommand, digest: str) -> Invocation | None:
    if command.is_piped:
        return None
    words = _find_program(without_leads(command.words))
    if not words or words[0] in _TRIVIAL:
        return None
    program = _VERSION.sub("", words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe"))
    given = [*_arguments(words[1:]), *[(name, False) for name in command.inputs]]
    rest = [word for word, _ in given]
    chosen = frozenset(word for word, is_chosen in given if is_chosen)
    if program in _LOOKS and not any(word.startswith("-i") for word in words[1:] if program == "sed"):
        return Invocation(program, frozenset(rest[:_MOST_TARGETS]), Aim.LOOK)
    if program in SCRIPT_RUNNERS:
        return _read_script(program, rest, digest)
    if program in _SUBCOMMANDS and rest:
        sub, *rest = rest[1:] if rest[0] == "run" and len(rest) > 1 else rest
        if program in _DEEP and rest:
            sub, *rest = (f"{sub} {rest[0]}", *rest[1:])
        if program == "git" and sub in _GIT_LOOKS and not _sets(sub, words, rest):
            return Invocation(f"git {sub}", frozenset(), Aim.LOOK)
        aim = _aim_of(sub) if program not in _INSTALLERS else _aim_of(f"{program} {sub}")
        return Invocation(f"{program} {sub}", frozenset(rest[:_MOST_TARGETS]), aim, chosen=chosen)
    return Invocation(program, frozenset(rest[:_MOST_TARGETS]), _aim_of(program), chosen=chosen)


def _sets(sub: str, words: Sequence[str], rest: Sequence[str]) -> bool:
    """Whether a git command that mostly looks changes something, as where it is given what to set."""
    if sub == "stash":
        return rest[:1] not in (["list"], ["show"])
    if sub == "config":
        is_shown = not _CONFIG_SHOWS.isdisjoint(words)
        return not is_shown and (len(rest) > 1 or not _CONFIG_UNSETS.isdisjoint(words))
    return sub in ("branch", "remote") and not _REMOVES_OR_ADDS.isdisjoint(words)


def _read_script(program: str, rest: Sequence[str], digest: str) -> Invocation:
    """A script is known by its file; one that is given in words by these."""
    file = rest[0] if rest and "\n" not in rest[0] and " " not in rest[0] and rest[0] != "-" else ""
    name = file.replace("\\", "/").rpartition("/")[2]
    aim = Aim.TEST if name in ("manage.py", "runtests.py") and "test" in rest[:2] else _aim_of(name, Aim.TEST)
    if aim is Aim.TEST and name in ("runtests.py", "manage.py"):
        return Invocation(name, frozenset(rest[1:_MOST_TARGETS]) - {"test"}, aim)
    return Invocation(program, frozenset({name or digest}))


@lru_cache(maxsize=1024)
def _aim_of(program: str, only: Aim | None = None) -> Aim:
    words = frozenset(_WORD.findall(program.lower()))
    if program in _BUILDS:
        return Aim.BUILD
    for aim, known in _AIM_WORDS:
        if not words.isdisjoint(known) and only in (None, aim):
            is_installer = aim is not Aim.INSTALL or not words.isdisjoint(_INSTALLERS)
            if is_installer:
                return aim
    return Aim.NONE


def _find_program(words: list[str]) -> list[str]:
    """Leave out whatever only runs the program."""
    while words:
        first, second = words[0].rpartition("/")[2], words[1] if len(words) > 1 else ""
        if first in _RUNNERS or first == "timeout":
            words = _skip_options(words[1:])
            words = words[1:] if first == "timeout" else words
        elif first in _RUN_TOOLS and second in _RUN_WORDS and first not in _RUN_WORDS[second]:
            words = _skip_options(words[2:])
        elif _VERSION.sub("", first) == "python" and second == "-m":
            words = words[2:]
        elif first in SHELLS and _SHELL_SCRIPT.fullmatch(second):
            words = without_leads(words[2:])
            if words and words[0] == "cd":
                return []  # the words of the line after it follow as commands of their own
        else:
            return words
    return words


def _skip_options(words: list[str]) -> list[str]:
    start = 0
    while start < len(words) and words[start].startswith("-"):
        start += 2 if words[start] in _VALUE_OPTIONS else 1
    return words[start:]


def _arguments(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield what a program is run on; options say how, but for those that choose some of it."""
    is_chosen = is_skipped = False
    before = ""
    for word in words:
        if is_skipped:
            is_skipped = False
        elif word.startswith("-") and len(word) > 1 and not is_chosen:
            name, _, value = word.partition("=")
            if value and name in _TARGET_OPTIONS:
                yield from _choices(value)
            is_chosen = not value and name in _TARGET_OPTIONS
            is_skipped = not value and name in _VALUE_OPTIONS
        else:
            is_value = before.startswith("-") and not is_chosen and _NUMBER.fullmatch(word)
            if is_chosen:
                yield from _choices(word)
            elif not is_value and word not in _IDLE_WORDS and not word.startswith("+"):
                yield word, False
            is_chosen = False
        before = word


def _choices(value: str) -> Iterator[tuple[str, bool]]:
    """Yield the names that the value of a choosing option lists."""
    for name in _OR.split(value):
        if bare := name.strip("^$()'\" "):
            yield bare, True
