"""Ray Data writes the bytes that this machine writes; run where Ray is installed, with `make test-ray`."""

import gzip
import importlib.util
import json

import pytest

from midfold.errors import ExtraMissing
from midfold.testing import transcript
from midfold.trajectories import Batch, CompressionConfig, LocalEngine, compress_files
from midfold.trajectories.ray import RayEngine
from midfold.trajectories.sources import read_share

CONFIG = CompressionConfig(target_max_tokens=1_500, summary_target_tokens=300)
SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]
HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed")
# Ray leaves sockets and files to the end of the process.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of three forms with good and bad rows, of more than one chunk each."""
    path = tmp_path_factory.mktemp("in")
    rows = [{"id": number, "conversations": SHORT} for number in range(1_300)]
    rows[5]["conversations"] = rows[700]["conversations"] = transcript("sharegpt", turns=16, result_chars=400)
    lines = [json.dumps(row).encode() for row in rows]
    lines[9] = b"{broken"
    (path / "a.jsonl").write_bytes(b"\n".join(lines))
    (path / "b.jsonl.gz").write_bytes(gzip.compress(b"\n".join(reversed(lines))))
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(rows), path / "c.parquet")
    return path


def contents(out):
    listed = out.with_name(out.name + ".rejects.jsonl")
    return [*(path.read_bytes() for path in sorted(out.iterdir())), listed.read_bytes()]


@pytest.fixture(scope="module")
def ray_cluster():
    """One cluster for all tests: to start one takes longer than they do."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@needs_ray
@pytest.mark.parametrize("share", [None, "40%"])
def test_ray_writes_the_bytes_of_the_local_engine(folder, tmp_path, ray_cluster, share):
    batch = Batch(folder, CONFIG, read_share(share) if share else None, seed=3)
    local = compress_files(batch, tmp_path / "here", engine=LocalEngine(2))
    remote = compress_files(batch, tmp_path / "there", engine=RayEngine())
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    assert local.totals == remote.totals


@needs_ray
def test_run_that_was_begun_here_is_resumed_on_ray(folder, tmp_path, ray_cluster):
    def stop_early(task, selection):
        for number, finished in enumerate(LocalEngine()(task, selection)):
            if number == 4:
                raise KeyboardInterrupt
            yield finished

    with pytest.raises(KeyboardInterrupt):
        compress_files(Batch(folder, CONFIG), tmp_path / "there", engine=stop_early)
    done = compress_files(Batch(folder, CONFIG), tmp_path / "there", engine=RayEngine(), resume=True)
    compress_files(Batch(folder, CONFIG), tmp_path / "here")
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    assert done.resumed_rows > 1_300


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_the_extra_is_named():
    with pytest.raises(ExtraMissing, match=r"pip install 'midfold\[ray\]'"):
        RayEngine()
