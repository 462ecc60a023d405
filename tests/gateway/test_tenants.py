"""Tenants at one gateway: none reads, finds, changes or pays for anything of another."""

import json
import random
from urllib.parse import quote

import pytest

from midfold.keys import KeyRing
from midfold.testing import Reply, Upstream
from midfold.testing.conversations import transcript

PATH = "/v1/chat/completions"
API = "/admin/api"
SMALL = {"model__context_length": 16_000}
COMMON = transcript("openai_chat", turns=9, steps=2, result_chars=500)


class Tenant:
    """A tenant with a canary in everything that it says."""

    def __init__(self, running, ring, name):
        self.running = running
        self.name = name
        self.canary = f"canary{name}{random.Random(name).randrange(10**9)}"
        self.key = ring.create(name, tenant=name, is_admin=True).secret.reveal()
        self.token = self.get("/token").json["token"]

    def get(self, path):
        return self.running.ask(f"{API}{path}", method="GET", x_midfold_key=self.key)

    def change(self, method, path, body):
        return self.running.ask(
            f"{API}{path}", body, method=method, x_midfold_key=self.key, x_midfold_token=self.token
        )

    def say(self, messages, **headers):
        body = {"model": "gpt-5-mini", "messages": messages}
        return self.running.ask(PATH, body, x_midfold_key=self.key, **headers)

    @property
    def ids(self):
        found = self.get("/conversations?limit=200").json["conversations"]
        return [each["id"] for each in found] + [each["conversation"] for each in found]


def long_talk(canary):
    messages = transcript("openai_chat", turns=14, steps=2, result_chars=2_500)
    messages[1]["content"] = f"{messages[1]['content']} The word is {canary}."
    return messages


@pytest.fixture
def tenants(gateway, home, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up, **SMALL)
        ring = KeyRing(home)
        made = [Tenant(running, ring, name) for name in ("red", "blue")]
        for tenant in made:
            answer = tenant.say(long_talk(tenant.canary))
            assert answer.changes["x-midfold-folded"] == "1"
            tenant.say([{"role": "user", "content": f"the word is {tenant.canary}"}])
            tenant.say(COMMON)
        running.settle()
        yield made


READS = (
    "/conversations/{id}",
    "/conversations/{id}/folds/1",
    "/conversations/{id}/notes",
    "/sessions/{id}/messages",
    "/sessions/{id}/messages?view=context&full=true",
    "/search?q={canary}",
    "/search?q={canary}&session={id}",
    "/search?q=word&session={id}",
    "/conversations?after={id}",
    "/usage?days=7",
    "/conversations?limit=200",
)
CHANGES = (
    ("POST", "/conversations/{id}/compress", {}),
    ("POST", "/conversations/{id}/undo", {}),
    ("POST", "/conversations/{id}/notes", {"text": "planted"}),
    ("POST", "/conversations/{id}/notes/strike", {"numbers": [1]}),
    ("PUT", "/conversations/{id}/notes/1", {"text": "planted"}),
    ("POST", "/conversations/{id}/pins", {"text": "planted"}),
    ("DELETE", "/conversations/{id}/pins", {"text": "planted"}),
)


def probe(chance, spy, victim, ids):
    """Ask for something of another tenant; return the answer, and whether nothing may be found."""
    which = chance.choice(ids)
    canary = victim.canary[: chance.choice((None, -3))]
    kind = chance.random()
    if kind < 0.6:
        path = chance.choice(READS).format(id=quote(which), canary=canary)
        return spy.get(path), False
    if kind < 0.8:
        method, path, body = chance.choice(CHANGES)
        return spy.change(method, path.format(id=quote(which)), body), True
    if kind < 0.9:
        named = {"x_midfold_session": which, "session_id": which}
        return spy.say([{"role": "user", "content": f"go on {chance.random()}"}], **named), False
    # A history that the other tenant has as well.
    return spy.say(COMMON[: chance.randrange(2, len(COMMON))], x_midfold_session=which), False


def run_probes(tenants, count):
    chance = random.Random(20)
    ids = {tenant.name: tenant.ids for tenant in tenants}
    before = [snapshot(tenant, ids[tenant.name]) for tenant in tenants]
    leaks = []
    for number in range(count):
        spy, victim = tenants if number % 2 else tenants[::-1]
        answer, is_change = probe(chance, spy, victim, ids[victim.name])
        said = answer.body.decode() + json.dumps(answer.headers)
        if is_change and answer.status != 404:
            leaks.append((number, answer.status, said))
        if answer.status not in (200, 404) or any(
            each in said for each in (victim.canary, *ids[victim.name])
        ):
            leaks.append((number, answer.status, said))
    assert leaks == []
    tenants[0].running.settle()
    assert [snapshot(tenant, ids[tenant.name]) for tenant in tenants] == before


def snapshot(tenant, ids):
    """Everything of some conversations, as the API shows it."""
    shown = {}
    for name in ids:
        for path in (f"/conversations/{name}", f"/sessions/{name}/messages?full=true&limit=200"):
            answer = tenant.get(path)
            assert answer.status == 200
            shown[path] = answer.body
    return shown


def test_probes_across_tenants_find_and_change_nothing(tenants):
    run_probes(tenants, 250)


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_ten_thousand_probes_across_tenants_find_and_change_nothing(tenants):
    run_probes(tenants, 10_000)


def test_the_answer_for_a_foreign_id_is_that_for_none(tenants):
    red, blue = tenants
    for path in ("/conversations/{}", "/sessions/{}/messages", "/conversations/{}/notes"):
        foreign, missing = red.get(path.format(blue.ids[0])), red.get(path.format("0" * 32))
        assert (foreign.status, foreign.body) == (missing.status, missing.body)


def test_folds_and_summaries_are_not_shared(tenants):
    red, blue = tenants
    shared = transcript("openai_chat", turns=15, steps=2, result_chars=2_500)
    first, second = red.say(shared), blue.say(shared)
    assert first.changes["x-midfold-session"] != second.changes["x-midfold-session"]
    red.running.settle()
    assert not set(red.ids) & set(blue.ids)


def test_a_window_that_one_tenant_learnt_is_its_own(gateway, home, store):
    with Upstream(Reply("ok"), window_tokens=80_000, provider="openai") as up:
        running = gateway(up, model__context_length=256_000)
        red, _ = (Tenant(running, KeyRing(home), name) for name in ("red", "blue"))
        red.say(transcript("openai_chat", turns=60, steps=2, result_chars=3_000))
    assert "80000" in (home / "learnt_limits.red.json").read_text()
    assert {path.name for path in home.glob("learnt_limits*")} == {"learnt_limits.red.json"}


def test_live_events_are_of_one_tenant(tenants):
    red, blue = tenants
    blue.say([{"role": "user", "content": "something new"}])
    red.running.settle()
    connection = red.running.connect()
    connection.request("GET", f"{API}/events", headers={"x-midfold-key": red.key})
    response = connection.getresponse()
    seen = b""
    while seen.count(b"event: request") < 2:
        seen += response.readline()
    connection.close()
    assert not any(each.encode() in seen for each in blue.ids)


def test_the_operator_without_a_tenant_sees_neither(tenants, home):
    red, _ = tenants
    operator = KeyRing(home).create("ops", is_admin=True).secret.reveal()
    answer = red.running.ask(f"{API}/conversations", method="GET", x_midfold_key=operator)
    assert answer.json["conversations"] == []
