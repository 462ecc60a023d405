"""A process that folds a conversation which others fold at the same time: FOLDER SESSION SEED.

It says when it is ready, starts at a line on its input, and prints the summaries that it made.
"""

import sys
from pathlib import Path

from midfold.engines import EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.folding import CompressionPolicy
from midfold.store import open_store
from midfold.testing import transcript

ROUNDS = 4


def main(folder: str, session: str, seed: str) -> None:
    with open_store(Path(folder) / "s.db") as store:
        policy = CompressionPolicy(context_length=24_000)
        key = store.conversation_key(session)
        engine = LosslessEngine.open(EngineSetup(policy, key=key, store=store))
        engine.on_session_start(session)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        for number in range(ROUNDS):
            more = transcript("openai_chat", seed=int(seed) + number, turns=12, result_chars=2_000)
            result = engine.compress_result([*store.messages(session), *more])
            sys.stdout.write(f"{' '.join(node.id for node in result.nodes)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
