"""Run real clients through `midfold wrap`, each for some turns with a tool, before, during and after folds.

`python scripts/run_clients.py --install` makes environments for them in the user's cache. Claude Code and
Codex come as wheels. `python scripts/run_clients.py [NAME ...]` runs them against a scripted upstream on
loopback, with dummy keys and an environment of their own, and prints one line for each. It fails where a
client does. With `--recall` the model asks for what was folded before it goes on, unseen by the client.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

from midfold.messages import Message, ToolCall, chain_digests
from midfold.store import Store, open_store
from midfold.testing import Reply, Upstream
from midfold.testing.upstream import Received
from midfold.wire import parse
from midfold.wire.validate import find_errors

SCRIPTS = Path(__file__).parent / "clients"
CACHE = Path.home() / ".cache" / "midfold" / "clients"
TURNS = 10
MOST_SECONDS = 400
PACKAGES = {
    "python": (
        "openai",
        "anthropic",
        "llm",
        "pydantic-ai-slim[openai,anthropic]",
        "langchain-openai",
        "langchain-anthropic",
        "openai-agents",
        "claude-agent-sdk",
        "openai-codex-cli-bin",
    ),
    "aider": ("aider-chat",),
}
"""Environments, and what is installed into each; aider pins old versions of the others."""

_CALL_NUMBERS = count(1)
_WRITER = "writer"
_SUMMARY = "## Goal\nName the tariff of each zone.\n\n## Remaining Work\nGo on with the newest request."
_RECALL, _RECALL_ID = "midfold_recall", "recall_"
_ARGUMENTS: Mapping[str, Callable[[int], object]] = {
    "read_file": lambda number: {"path": f"src/zone_{number}.py"},
    "Read": lambda number: {"file_path": str(Path.cwd() / f"src/zone_{number}.py")},
    "exec_command": lambda number: {"cmd": f"cat src/zone_{number}.py"},
    "shell": lambda number: {"command": ["cat", f"src/zone_{number}.py"]},
    "shell_command": lambda number: {"command": f"cat src/zone_{number}.py"},
}
"""The tools of the clients that read a file, and how each is called."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client: how it is run for its `turn`th prompt, or with `prompts` as its input for all of them."""

    environment: str
    command: Callable[[Path, int, str], Sequence[object]]
    window: int = 16_000
    is_run_once: bool = True
    """whether one process has the whole conversation"""
    prompts: tuple[str, ...] = ()


def _script(name: str, *arguments: str) -> Client:
    return Client(
        "python", lambda root, _turn, _prompt: [root / "bin/python", SCRIPTS / f"{name}.py", *arguments]
    )


def _prompt(number: int) -> str:
    return f"Read src/zone_{number}.py and tell me its tariff."


def _claude(root: Path, turn: int, prompt: str) -> Sequence[object]:
    (program,) = root.glob("lib/python*/site-packages/claude_agent_sdk/_bundled/claude")
    goes_on = ["--continue"] if turn else []
    return [program, "-p", prompt, *goes_on, "--model", "claude-opus-4-1", "--allowedTools", "Read"]


def _codex(root: Path, turn: int, prompt: str) -> Sequence[object]:
    (program,) = root.glob("lib/python*/site-packages/codex_cli_bin/bin/codex")
    options = ["--skip-git-repo-check", "-m", "gpt-5-codex", "--dangerously-bypass-approvals-and-sandbox"]
    return [program, "exec", *(["resume", "--last"] if turn else []), *options, prompt]


def _llm(root: Path, turn: int, prompt: str) -> Sequence[object]:
    goes_on = ["-c"] if turn else []
    return [root / "bin/llm", "-m", "gpt-5-mini", *goes_on, "--functions", SCRIPTS / "work.py", prompt]


def _aider(root: Path, _turn: int, _prompt: str) -> Sequence[object]:
    options = "--no-git --yes-always --no-pretty --no-check-update --no-show-model-warnings --no-analytics"
    more = "--edit-format diff --map-tokens 0 --max-chat-history-tokens 1000000 --model openai/gpt-5-mini"
    return [root / "bin/aider", *options.split(), *more.split(), "src/zone_0.py"]


CLIENTS = {
    "openai, chat completions": _script("sdk_openai"),
    "openai, Responses": _script("sdk_openai_responses"),
    "anthropic": _script("sdk_anthropic"),
    "pydantic-ai, chat completions": _script("with_pydantic_ai", "openai-chat:gpt-5-mini"),
    "pydantic-ai, Responses": _script("with_pydantic_ai", "openai-responses:gpt-5-mini"),
    "pydantic-ai, Anthropic": _script("with_pydantic_ai", "anthropic:claude-opus-4-1"),
    "langchain-openai": _script("with_langchain", "openai"),
    "langchain-anthropic": _script("with_langchain", "anthropic"),
    "openai-agents, chat completions": _script("with_openai_agents", "chat_completions"),
    "openai-agents, Responses": _script("with_openai_agents", "responses"),
    "llm": Client("python", _llm, is_run_once=False),
    "aider": Client("aider", _aider, prompts=tuple(map(_prompt, range(TURNS)))),
    "Claude Code": Client("python", _claude, 40_000, is_run_once=False),
    "Codex": Client("python", _codex, 30_000, is_run_once=False),
}


class Provider:
    """Asks for a file when a person spoke, and says that it is done when a tool did."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.recalls = 0

    def __call__(self, received: Received) -> Reply:
        if received.model == _WRITER:
            return Reply(_SUMMARY)
        newest = next(message for message in reversed(received.messages) if message.role != "system")
        number = sum(1 for message in received.messages if message.role == "assistant")
        names = list(_tool_names(received.json))
        answered = [result.call_id for result in newest.results]
        has_recalled = any(call.startswith(_RECALL_ID) for call in answered)
        if _RECALL in names and not answered:
            self.recalls += 1
            return _call(_RECALL, '{"query": "tariff"}', f"{_RECALL_ID}{self.recalls}")
        if answered and not has_recalled:
            return Reply(f"Done: the tariff is 2.4{number % 10} a day.")
        tool = next((name for name in names if name in _ARGUMENTS), None)
        if tool is None:
            return Reply(_write_edit(number))
        arguments = json.dumps(_ARGUMENTS[tool](number % TURNS)).replace(str(Path.cwd()), str(self._folder))
        return _call(tool, arguments, f"call_{next(_CALL_NUMBERS)}")


def _call(tool: str, arguments: str, call_id: str) -> Reply:
    return Reply("Let me look.", (ToolCall(call_id, tool, arguments),))


def _tool_names(body: Mapping[str, object]) -> Iterator[str]:
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        yield str(tool.get("name") or tool.get("function", {}).get("name"))


def _write_edit(number: int) -> str:
    """Write a new file, as a model does that has no tools."""
    why = " ".join(f"Rate {line} of zone {number} is {line * 37 % 101} a day." for line in range(150))
    name = f"out_{number}.py"
    edit = f"<<<<<<< SEARCH\n=======\nRATE = 2.4{number}\n>>>>>>> REPLACE"
    return f"Done. {why}\n\n{name}\n```python\n{edit}\n```\n"


def run(name: str, client: Client, root: Path, *, recall: bool = False) -> str:
    """Run one client in a folder of its own; return what is wrong, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        _write_files(home / "work" / "src")
        provider = Provider(home / "work")
        with Upstream(provider) as up:
            started = time.monotonic()
            failed = _talk(client, root, home, up, recall=recall)
            seconds = time.monotonic() - started
            with open_store(home / "midfold" / "sessions.db") as store:
                wrong = failed or _judge(client, up, store)
                facts = "" if failed else _describe(up, store)
                if recall and not wrong:
                    wrong = "" if provider.recalls else "nothing was recalled"
                    facts += f", {provider.recalls} recalls"
    print(f"{name:<34} {'FAILED: ' + wrong if wrong else 'ok'}  {facts}  {seconds:.0f} s", flush=True)
    return wrong


def _write_files(folder: Path) -> None:
    folder.mkdir(parents=True)
    sys.path.insert(0, str(SCRIPTS))
    from work import read_file

    for number in range(TURNS):
        (folder / f"zone_{number}.py").write_text(read_file(f"src/zone_{number}.py"), "utf-8")


def _talk(client: Client, root: Path, home: Path, up: Upstream, *, recall: bool) -> str:
    """Have the conversation; return why it failed, or nothing."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TERM": "dumb",
        "TURNS": str(TURNS),
        "MIDFOLD_HOME": str(home / "midfold"),
        "MIDFOLD_MODEL__CONTEXT_LENGTH": str(client.window),
        "MIDFOLD_GATEWAY__RECALL": str(recall).lower(),
        "MIDFOLD_COMPRESSION__SUMMARY_MODEL": f"scripted/{_WRITER}",
        "MIDFOLD_COMPRESSION__STRATEGY": "fold",
        "MIDFOLD_PROVIDERS__SCRIPTED__BASE_URL": f"{up.url}/v1",
        "OPENAI_BASE_URL": f"{up.url}/v1",
        "ANTHROPIC_BASE_URL": up.url,
        "OPENAI_API_KEY": "any",
        "CODEX_API_KEY": "any",
        "ANTHROPIC_API_KEY": "any",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    for turn in range(1 if client.is_run_once else TURNS):
        command = [sys.executable, "-m", "midfold", "wrap", "--", *client.command(root, turn, _prompt(turn))]
        done = subprocess.run(
            [str(each) for each in command],
            env=environ,
            cwd=home / "work",
            input="\n".join(client.prompts),
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        if done.returncode:
            return f"status {done.returncode} in turn {turn}: {(done.stdout + done.stderr)[-2_000:]}"
        if not client.prompts and done.stdout.count("Done: ") < (TURNS if client.is_run_once else 1):
            return f"no answer in turn {turn}: {(done.stdout + done.stderr)[-2_000:]}"
    return ""


def _conversation(up: Upstream) -> list[list[Message]]:
    """Return the requests of the conversation, without rounds of recall and what clients send beside it."""
    asked = [
        each for each in up.requests if each.method == "POST" and each.messages and each.model != _WRITER
    ]
    most = max(_count_own_tools(received) for received in asked)
    return [
        received.messages
        for received in asked
        if _count_own_tools(received) == most and not _has_recalled(received.messages)
    ]


def _count_own_tools(received: Received) -> int:
    return sum(1 for name in _tool_names(received.json) if name != _RECALL)


def _has_recalled(messages: Sequence[Message]) -> bool:
    return any(call.id.startswith(_RECALL_ID) for message in messages for call in message.calls)


def _judge(client: Client, up: Upstream, store: Store) -> str:
    """Return what is wrong with what was sent and stored, or nothing."""
    sent = _conversation(up)
    folds = [index for index, (before, after) in enumerate(pairwise(sent)) if len(after) < len(before)]
    if not folds or folds[0] > len(sent) - 3:
        return f"folds at {folds} of {len(sent)} requests: there has to be one, and turns after it"
    for received in up.requests:
        request = received.request
        if request is None or not request.messages:
            continue
        spoken = [
            item for item in request.messages if not (isinstance(item, dict) and item.get("role") == "system")
        ]
        if faults := find_errors(spoken, dialect=request.dialect):
            return f"an illegal request: {faults[0]}"
        if received.count_tokens() > client.window:
            return f"a request of {received.count_tokens()} tokens"
    held = [_history(store, tip.id) for tip in store.conversations()]
    whole = [
        said
        for said in held
        if all(any(_prompt(n) in message.text for message in said) for n in range(TURNS - 1))
    ]
    if len(whole) != 1:
        return f"{len(whole)} of {len(held)} stored conversations have all prompts"
    if _count_summaries(up) > len(store.folds()) + 1:  # one may be prepared for the next
        return f"{_count_summaries(up)} summaries for {len(store.folds())} folds"
    if _has_recalled(whole[0]):
        return "the client saw what the gateway recalled"
    found = store.find_history(chain_digests(whole[0]))
    return "" if found is not None and found.is_end else "the stored messages do not chain"


def _count_summaries(up: Upstream) -> int:
    return sum(received.model == _WRITER for received in up.requests)


def _history(store: Store, session_id: str) -> list[Message]:
    dialect = store.session(session_id).dialect or "openai_chat"
    return parse([record.item for record in store.history(session_id)], dialect)


def _describe(up: Upstream, store: Store) -> str:
    sent, folds = _conversation(up), len(store.folds())
    before = next((i for i, (one, two) in enumerate(pairwise(sent), 1) if len(two) < len(one)), len(sent))
    beside = len(store.conversations()) - 1
    paid = _count_summaries(up)
    facts = f"{len(sent)} requests, {before} before the first of {folds} folds, {paid} summaries asked for"
    return f"{facts}; {beside} conversations beside"


def install(root: Path) -> None:
    """Make the environments."""
    for name, packages in PACKAGES.items():
        subprocess.run([sys.executable, "-m", "venv", root / name], check=True)
        subprocess.run([root / name / "bin/python", "-m", "pip", "install", "--quiet", *packages], check=True)


def main() -> int:
    """Run the clients that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--environments", type=Path, default=CACHE, help="where they are installed")
    parser.add_argument("--install", action="store_true", help="make the environments first")
    parser.add_argument("--recall", action="store_true", help="let the model read back what was folded")
    given = parser.parse_args()
    if given.install:
        install(given.environments)
    wanted = given.names or list(CLIENTS)
    wrong = [
        name
        for name in wanted
        if run(name, CLIENTS[name], given.environments / CLIENTS[name].environment, recall=given.recall)
    ]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
