"""A process that records calls until it is killed, and tells which ones it was promised.

Run as a script it loads everything once, then forks a worker for each line on its input: a JSON object with
the store, the session, the calls (id and raw usage) and the fault that ends the worker.
"""

import json
import os
import sys

from midfold import faults
from midfold.store import open_store
from midfold.usage import make_call


def main() -> None:
    # Whatever is loaded by the first call is loaded here.
    open_store("sqlite::memory:").close()
    make_call({"input_tokens": 1}, "claude-sonnet-4-5")
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            faults.arm(job["fault"])
            record(job)
            os._exit(0)
        os.waitpid(child, 0)
        tell("ended")


def record(job: dict[str, object]) -> None:
    store = open_store(str(job["store"]), synchronous="NORMAL")
    for call_id, raw in job["calls"]:  # type: ignore[attr-defined]
        store.record_call(str(job["session"]), make_call(raw, "claude-sonnet-4-5", call_id=call_id))
        tell(call_id)
    store.close()


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
