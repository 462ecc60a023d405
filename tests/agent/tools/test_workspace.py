"""No tool opens the session store, or anything else of the home, however its path is spelled.

A close of any handle on the database takes away SQLite's locks in this process; the next process to leave
then removes the log under the writer.
"""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from midfold.agent import Proposal, ToolFailed, ToolFinished
from midfold.agent.edit_history import EditHistory
from midfold.agent.tools.file_edits import FileEdits
from midfold.agent.tools.file_search import search_tools
from midfold.agent.tools.files import file_tools
from midfold.agent.tools.workspace import Workspace
from midfold.messages import ToolCall
from midfold.store import open_store
from midfold.testing.upstream import Reply, Upstream

OURS = "belongs to midfold's own store and is not opened"
MESSAGE = {"role": "user", "content": "about the harbour office " * 20}


def call(name, **arguments):
    return ToolCall(f"call_{name}_{len(json.dumps(arguments))}", name, json.dumps(arguments))


def in_another_process(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COME_AND_GO = """
    import sys
    from midfold.store import open_store
    open_store(sys.argv[1]).close()
"""
COUNT = """
    import sys
    from pathlib import Path
    from midfold.store import open_store
    with open_store(sys.argv[1]) as store:
        said = store.history(sys.argv[2])
    print(sum("turn " in str(each.item) for each in said))
"""


@pytest.fixture
def own(tmp_path):
    """A workspace that contains the home, with a store that is open there."""
    root = tmp_path / "user"
    home = root / "home"
    with open_store(home / "sessions.db") as store:
        store.create_session(session_id="s", dialect="openai_chat")
        store.append("s", MESSAGE)
        (root / "code").mkdir()
        (root / "code" / "a.txt").write_text("harbour\n")
        (home / "config.yaml").write_text("# harbour\n")
        (home / "outputs").mkdir()
        (home / "outputs" / "x.txt").write_text("harbour, put aside\n")
        yield root


def using(workspace):
    home = workspace.private.home if workspace.private else workspace.root
    edits = FileEdits(workspace, EditHistory(home, lambda: "talk"))
    tools = {each.name: each for each in [*file_tools(edits), *search_tools(workspace)]}
    return lambda name, **arguments: finish(tools[name].run(arguments))


def finish(answer):
    """Do what a tool proposes, as if the user had allowed it."""
    return answer.run() if isinstance(answer, Proposal) else answer


ARGUMENTS = {
    "read_file": {},
    "write_file": {"content": "overwritten"},
    "edit_file": {"old_string": "a", "new_string": "b"},
    "list_files": {},
    "search_files": {"pattern": "harbour"},
}


@pytest.mark.slow
def test_what_was_acknowledged_is_there_after_tools_searched_a_workspace_with_the_home_in_it(
    make_agent, play, tmp_path
):
    home, store = tmp_path / "user" / "home", tmp_path / "user" / "home" / "sessions.db"
    looks = (
        call("search_files", pattern="harbour"),
        call("read_file", path="home/sessions.db"),
        call("read_file", path="home/sessions.db-wal"),
        call("read_file", path="home/sessions.db-shm"),
        call("list_files"),
    )
    script = [Reply("", looks), *(Reply("Yes.") for _ in range(8))]
    with Upstream(script) as up:
        agent = make_agent(up, home=home, workspace=tmp_path / "user")
        for number in range(8):
            play(agent, f"turn {number}")
            in_another_process(COME_AND_GO, store)
        assert in_another_process(COUNT, store, agent.session_id).strip() == "8"
        assert agent.store.check() == []


def test_a_refused_read_says_so_in_one_line_and_says_what_to_use(make_agent, play, tmp_path):
    with Upstream([Reply("", (call("read_file", path="home/sessions.db"),)), Reply("Yes.")]) as up:
        agent = make_agent(up, home=tmp_path / "user" / "home", workspace=tmp_path / "user")
        [told] = [each for each in play(agent, "Read it.") if isinstance(each, ToolFinished)]
    assert told.is_error
    assert OURS in told.text
    assert "recall" in told.text
    assert "\n" not in told.text.strip()


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
@pytest.mark.parametrize(
    "path",
    [
        "home",
        "home/sessions.db",
        "home/sessions.db-wal",
        "home/sessions.db-journal",
        "home/../home/./config.yaml",
        "link/sessions.db",
        "file_link",
        "home/new/deep.txt",
        "home/plugins/context_engine/x/__init__.py",
    ],
)
def test_nothing_of_the_home_is_touched(name, path, own):
    (own / "link").symlink_to(own / "home")
    (own / "file_link").symlink_to(own / "home" / "sessions.db")
    before = sorted(each.name for each in (own / "home").iterdir())
    use = using(Workspace.open(own, home=own / "home"))
    with pytest.raises(ToolFailed, match=OURS):
        use(name, path=path, **ARGUMENTS[name])
    assert sorted(each.name for each in (own / "home").iterdir()) == before


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "list_files", "search_files"])
def test_a_hard_link_to_a_file_of_the_store_is_the_file_itself(name, own):
    for part in ("sessions.db", "sessions.db-wal", "sessions.db-shm"):
        os.link(own / "home" / part, own / "code" / part)
    use = using(Workspace.open(own / "code", home=own / "home"))
    for part in ("sessions.db", "sessions.db-wal", "sessions.db-shm"):
        with pytest.raises(ToolFailed, match=OURS):
            use(name, path=part, **ARGUMENTS[name])
    assert "sessions" not in use("list_files")


@pytest.mark.parametrize("name", ["write_file", "read_file", "search_files", "list_files", "edit_file"])
def test_a_store_outside_the_home_and_every_other_open_one_is_known_by_its_files(name, tmp_path):
    folder = tmp_path / "project"
    use = using(Workspace.open(folder, home=tmp_path / "home"))
    with open_store(folder / "a.db"), open_store(folder / "b.db"):
        for path in ("a.db", "a.db-wal", "b.db", "b.db-shm"):
            with pytest.raises(ToolFailed, match=OURS):
                use(name, path=path, **ARGUMENTS[name])
        assert use("list_files") == "[no files]"


@pytest.mark.parametrize("suffix", ["-journal", "-JOURNAL"])
def test_a_file_that_sqlite_would_take_for_its_own_cannot_be_made(suffix, tmp_path):
    use = using(Workspace.open(tmp_path, home=tmp_path / "home"))
    with open_store(tmp_path / "a.db"), pytest.raises(ToolFailed, match=OURS):
        use("write_file", path=f"a.db{suffix}", content="a journal that would be played back")


def test_a_log_that_appears_later_is_protected_from_its_first_moment(tmp_path):
    use = using(Workspace.open(tmp_path, home=tmp_path / "home"))
    path = tmp_path / "a.db"
    open_store(path).close()
    assert not path.with_name("a.db-wal").exists()
    with open_store(path), pytest.raises(ToolFailed, match=OURS):
        use("read_file", path="a.db-wal")


def test_a_store_that_was_moved_while_it_is_open_is_still_known(tmp_path):
    use = using(Workspace.open(tmp_path, home=tmp_path / "home"))
    store = open_store(tmp_path / "a.db")
    use("list_files")
    (tmp_path / "a.db").rename(tmp_path / "moved")
    with pytest.raises(ToolFailed, match=OURS):
        use("read_file", path="moved")
    (tmp_path / "moved").rename(tmp_path / "a.db")
    store.close()


def test_search_and_listing_pass_the_home_by(own):
    use = using(Workspace.open(own, home=own / "home"))
    assert use("search_files", pattern="harbour") == "code/a.txt:1: harbour"
    assert use("list_files") == "code/a.txt  (8 bytes)"


def test_output_that_was_put_aside_may_be_read_by_its_path_and_not_changed(own):
    use = using(Workspace.open(own, home=own / "home"))
    assert "put aside" in use("read_file", path="home/outputs/x.txt")
    assert "put aside" in use("search_files", pattern="harbour", path="home/outputs")
    with pytest.raises(ToolFailed, match=OURS):
        use("write_file", path="home/outputs/x.txt", content="x")
    with pytest.raises(ToolFailed, match=OURS):
        use("edit_file", path="home/outputs/x.txt", old_string="put", new_string="x")


def test_whoever_works_in_the_home_reaches_their_own_files_there_and_none_of_ours(own):
    home = own / "home"
    (home / "mine.txt").write_text("harbour, mine\n")
    use = using(Workspace.open(home, home=home))
    assert use("search_files", pattern="harbour") == "mine.txt:1: harbour, mine"
    assert "Wrote" in use("write_file", path="notes/a.txt", content="x")
    for path in ("sessions.db", "Config.yaml", "MEMORY.md", "plugins/x.py", "pins"):
        with pytest.raises(ToolFailed, match=OURS):
            use("write_file", path=path, content="x")


def test_a_workspace_inside_the_home_is_a_workspace(own):
    (own / "home" / "plugins" / "mine").mkdir(parents=True)
    use = using(Workspace.open(own / "home" / "plugins" / "mine", home=own / "home"))
    assert "Wrote" in use("write_file", path="a.py", content="x")
    assert "a.py" in use("list_files")


def test_memory_never_follows_a_link_to_the_store(make_agent, tmp_path):
    home = tmp_path / "home"
    with Upstream([]) as up:
        agent = make_agent(up)
        (home / "MEMORY.md").symlink_to(home / "sessions.db")
        os.link(home / "sessions.db", home / "USER.md")
        before = (home / "sessions.db").stat().st_ino
        tools = {each.name: each for each in agent.tools}
        for target in ("memory", "user"):
            with pytest.raises(ToolFailed, match="own session store"):
                finish(tools["memory"].run({"action": "add", "entry": "x", "target": target}))
        assert "own session store" in tools["memory"].run({"action": "show"})
        assert (home / "sessions.db").stat().st_ino == before


EVERY_TOOL = """
    import asyncio, fcntl, json, os, sys
    from pathlib import Path
    home, root = Path(sys.argv[1]) / "home", Path(sys.argv[1])
    from midfold.agent import Agent
    from midfold.agent.tools.registry import Proposal, ToolFailed
    from midfold.config.home import _pins_file, read_old_pins

    PARTS = ["sessions.db", "sessions.db-wal", "sessions.db-shm", "sessions.db.writer", "sessions.db-journal"]
    opened = []
    def note(event, args):
        if event != "open" or not isinstance(args[0], (str, bytes)) or (args[2] or 0) & os.O_PATH:
            return
        name = os.path.basename(os.fsdecode(args[0]))
        try:
            facts = os.stat(args[0])
        except OSError:
            facts = None
        # What is opened relative to a folder comes without it, so links are known by their names, too.
        if "sessions.db" in name or name in planted or (facts and (facts.st_dev, facts.st_ino) in ours):
            opened.append(name)
    ours, planted = set(), set()

    agent = Agent("local/scripted", base_url="http://127.0.0.1:9", workspace=root, home=home, summarizer=None)
    session = agent.store.create_session(dialect="openai_chat").id
    agent.store.append(session, {"role": "user", "content": "harbour"})
    for part in PARTS:
        if (home / part).exists():
            facts = (home / part).stat()
            ours.add((facts.st_dev, facts.st_ino))
            os.link(home / part, root / f"hard {part}")
            (root / f"link {part}").symlink_to(home / part)
    os.link(home / "sessions.db", home / "USER.md")
    (home / "MEMORY.md").symlink_to(home / "sessions.db")
    agent.new_session()
    sink = agent._core.sink
    reference = sink.write("key", "harbour " * 1000, tool="terminal")
    kept = Path(sink.path_of(reference))
    kept.unlink()
    os.link(home / "sessions.db", kept)
    planted.add(kept.name)
    _pins_file(home, "x").parent.mkdir()
    _pins_file(home, "x").symlink_to(home / "sessions.db-wal")
    links = [each.name for each in root.iterdir() if "sessions.db" in each.name]
    assert len(links) >= 6
    paths = [".", "home", *links, *(f"home/{part}" for part in PARTS)]
    on = lambda **more: [{"path": path, **more} for path in paths]
    CASES = {
        "read_file": on(),
        "write_file": on(content="x")[1:],
        "edit_file": on(old_string="S", new_string="T"),
        "list_files": on(),
        "search_files": [*on(pattern="harbour"), *on(pattern="h.*r", is_regex=True)],
        "terminal": [{"command": "true"}],
        "memory": [
            {"action": action, "entry": "x", "target": target}
            for action in ("add", "remove", "show") for target in ("memory", "user")
        ],
        "recall": [{"query": "harbour", "everywhere": True}, {"session": session, "message": 0}],
        "read_persisted_output": [
            {"reference": each} for each in (reference, "sessions.db", "../sessions.db", "")
        ] + [{"pattern": "harbour"}, {}],
    }
    def is_locked():
        if child := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        handle = os.open(home / "sessions.db", os.O_RDWR)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
        except OSError:
            os._exit(0)
        os._exit(1)
    names = {each.name for each in agent.tools}
    assert names == set(CASES), f"tools without a case here: {names ^ set(CASES)}"
    sys.addaudithook(note)
    calls, failed, lost = 0, 0, []
    assert is_locked()
    async def finish(answer):
        return await answer
    for each in agent.tools:
        for arguments in CASES[each.name]:
            calls += 1
            try:
                answer = each.run(arguments)
                if isinstance(answer, Proposal):
                    answer.run()
                elif not isinstance(answer, str):
                    asyncio.run(finish(answer))
            except ToolFailed:
                failed += 1
            if not is_locked():
                lost.append(each.name)
    # What the agent itself reads and writes beside tools.
    agent.memory.show()
    assert read_old_pins(home, "x") == ()
    assert not sink.holds(reference)
    sink.write("other", "harbour " * 1000, tool="terminal")
    agent._core.outputs.sweep()
    agent.new_session()
    agent.close()
    print(json.dumps({"opened": opened, "calls": calls, "failed": failed, "lost": lost}))
"""


@pytest.mark.slow
def test_with_every_tool_nothing_but_sqlite_opens_a_file_of_the_store(tmp_path):
    (tmp_path / "home").mkdir()
    told = json.loads(in_another_process(EVERY_TOOL, tmp_path))
    assert (told["opened"], told["lost"]) == ([], [])
    assert told["calls"] > 80
    assert told["failed"] > 60
