"""Serve a model file on this machine, until asked to stop.

    python scripts/serve_model.py MODEL.gguf --context 4096

It needs `pip install xllamacpp`, the server of llama.cpp as a package: chat completions, Responses, Anthropic
Messages, and counting tokens. It prints `ready URL` once it answers.
"""

import argparse
import signal
import sys
import threading
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xllamacpp import Server

_HEALTH_SECONDS = 60
_SHOW_WARNINGS = 2  # llama.cpp's own scale; its default tells about every batch


def main() -> None:
    options = read_options()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    server = start(options)
    url = server.listening_address
    with urllib.request.urlopen(f"{url}/health", timeout=_HEALTH_SECONDS):  # noqa: S310 - it is our own
        print(f"ready {url}", flush=True)
    stop.wait()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="a .gguf file")
    parser.add_argument("--context", type=int, default=4096, help="the window in tokens")
    parser.add_argument(
        "--threads", type=int, default=1, help="as many as cores is slow where others work, too"
    )
    parser.add_argument("--port", type=int, default=0, help="a free one is found if not given")
    return parser.parse_args()


def start(options: argparse.Namespace) -> "Server":
    """Load the model and listen; it stops when the object goes."""
    try:
        from xllamacpp import CommonParams, Server
    except ModuleNotFoundError:
        sys.exit("serve_model: pip install xllamacpp into the environment that runs this")
    params = CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.model.stem}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.ui = False
    params.cors_origins = "http://127.0.0.1"
    params.verbosity = _SHOW_WARNINGS
    params.n_ctx = options.context
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.n_parallel = 1
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.sampling.temp = 0  # the same words every time, for tests
    try:
        return Server(params)
    except RuntimeError as error:
        sys.exit(f"serve_model: {options.model}: {error}")


if __name__ == "__main__":
    main()
