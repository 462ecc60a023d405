"""A process that folds a conversation with the lossless engine until it is killed.

Run as a script it loads everything once, then forks a worker for each line on its input: FOLDER FAULT. A
worker writes what it asked its model, each prompt by its hash, into the file `asked` of the folder.
"""

import os
import sys
from hashlib import sha256
from pathlib import Path

from midfold import faults
from midfold.engines import EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.folding import CompressionPolicy
from midfold.store import open_store
from midfold.testing import transcript

SESSION = "the-conversation"
NOTES = "## Goal\nMend the meter.\n\n## Key Decisions\n- Coins only, since cards time out at 30 s.\n"
MOST_TOKENS = 1500


def main() -> None:
    fold(said(), None, lambda _request: NOTES)  # whatever is loaded at the first fold is loaded here
    for line in sys.stdin:
        folder, fault = line.split()
        child = os.fork()
        if child == 0:
            faults.arm(None if fault == "-" else fault)
            work(Path(folder))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def said() -> list[object]:
    """Return what is said in the conversation."""
    return transcript("openai_chat", seed=3, turns=12, result_chars=2_000)


def work(folder: Path) -> None:
    """Fold the conversation where nobody did, and put the fold into the store."""

    def ask(request):
        with (folder / "asked").open("a") as asked:
            asked.write(f"{sha256(request.prompt.encode()).hexdigest()}\n")
        return NOTES

    with open_store(folder / "sessions.db") as store:
        if not store.conversations():
            store.create_session(session_id=SESSION, dialect="openai_chat", messages=said())
        tip = store.get_compression_tip(SESSION)
        if tip != SESSION:
            return
        engine, result = fold(store.messages(tip), store, ask)
        child = store.continue_session(tip, result.messages, result)
        engine.on_session_start(child, boundary_reason="compression", old_session_id=tip)


def fold(items, store, ask):
    """Fold with a model, into so little room that summaries are condensed."""
    key = store.conversation_key(SESSION) if store else b"of nobody"
    setup = EngineSetup(CompressionPolicy(context_length=200_000), key=key, store=store, summarizer=ask)
    engine = LosslessEngine.open(setup)
    if store:
        engine.on_session_start(SESSION)
    return engine, engine.compress_result(items, most_tokens=MOST_TOKENS)


if __name__ == "__main__":
    main()
