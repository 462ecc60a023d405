"""Keys that are given out: kept as keyed hashes, found by their whole text, revoked at once."""

import threading
from decimal import Decimal

import pytest

from midfold.errors import ConfigError
from midfold.keys import KEYS_FILE, PREFIX, BudgetPeriod, KeyGate, KeyRing

HOSTILE = [
    "",
    " ",
    "' OR '1'='1",
    "\x00",
    "mfk-",
    "mfk-\x00",
    "mfk-" + "x" * 1_000_000,
    "x" * 1_000_000,
    "mfk-" + "A" * 43,
    "mfk-\ud800",
    "мfk-" + "A" * 43,
    "mfk-*",
    "mfk-%",
    "Bearer mfk-" + "A" * 43,
    "null",
    "true",
    "[]",
    '{"$ne": null}',
    "\r\nx-midfold-key: a",
    "../gateway-keys.json",
    "\u202emfk-",
]


@pytest.fixture
def ring(tmp_path):
    return KeyRing(tmp_path / "home")


def test_the_text_of_a_key_is_nowhere_on_disk(ring):
    made = ring.create("ci")
    text = made.secret.reveal()
    assert text.startswith(PREFIX)
    assert len(text) > 40
    for path in ring.path.parent.iterdir():
        assert text.removeprefix(PREFIX).encode() not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
    assert text not in repr(made)


def test_a_key_is_found_by_its_whole_text_alone(ring):
    made = ring.create("ci", tenant="red", budget_dollars=Decimal("1.50"), period=BudgetPeriod.DAY)
    text = made.secret.reveal()
    assert ring.find(text) == made.key
    for other in (text[:-1], text + "A", text.upper(), text.swapcase(), f" {text}", made.key.digest):
        assert ring.find(other) is None


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_no_key(ring, text):
    ring.create("ci")
    assert ring.find(text) is None


def test_one_ring_sees_what_another_does(ring, tmp_path):
    assert ring.is_empty
    other = KeyRing(tmp_path / "home")
    made = other.create("ci")
    assert ring.find(made.secret.reveal()) == made.key
    other.revoke("ci")
    assert ring.find(made.secret.reveal()) is None
    assert not ring.is_empty
    assert other.create("ci").key.id != made.key.id


def test_a_file_of_keys_that_vanishes_does_not_open_the_gateway(ring):
    made = ring.create("ci")
    assert not ring.is_empty
    ring.path.unlink()
    assert not ring.is_empty
    assert ring.find(made.secret.reveal()) is not None


def test_a_key_expires(tmp_path):
    now = [1_000.0]
    ring = KeyRing(tmp_path, clock=lambda: now[0])
    made = ring.create("ci", expires_at=2_000.0)
    assert ring.find(made.secret.reveal()) is not None
    now[0] = 2_000.0
    assert ring.find(made.secret.reveal()) is None


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"version": 2}', '{"version": 1, "keys": [{"id": 5}]}'])
def test_a_damaged_file_is_said_in_one_line(ring, damage):
    ring.create("ci")
    ring.path.write_text(damage)
    with pytest.raises(ConfigError, match=KEYS_FILE) as raised:
        ring.find("mfk-x")
    assert "\n" not in str(raised.value)


def test_many_at_once_make_one_key_each(tmp_path):
    rings = [KeyRing(tmp_path) for _ in range(8)]
    threads = [threading.Thread(target=ring.create, args=(f"k{n}",)) for n, ring in enumerate(rings)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.name for key in KeyRing(tmp_path).list_all()} == {f"k{n}" for n in range(8)}


@pytest.mark.parametrize("name", ["", "a b", "../x", "a\nb", "x" * 65, "-x", "é"])
def test_names_are_fit_for_logs_and_files(ring, name):
    with pytest.raises(ConfigError):
        ring.create(name)
    with pytest.raises(ConfigError):
        ring.create("ok", tenant=name or "a b")
    assert ring.is_empty


def test_a_rate_is_kept_and_comes_back(ring):
    now = [0.0]
    gate = KeyGate(clock=lambda: now[0])
    key = ring.create("ci", per_minute=3, parallel=2).key
    assert [gate.wait_seconds(key) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert gate.wait_seconds(key) == pytest.approx(20.0)
    now[0] = 20.0
    assert gate.wait_seconds(key) == 0.0
    now[0] = 600.0
    with gate.count_open(key), gate.count_open(key):
        assert gate.wait_seconds(key) == 1.0
    assert gate.wait_seconds(key) == 0.0
