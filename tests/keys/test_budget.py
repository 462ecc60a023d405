"""Budgets: money is put aside before it is spent, by whichever thread, process or gateway."""

import subprocess
import sys
import threading
from contextlib import suppress
from decimal import Decimal

import pytest

from midfold.errors import ConfigError
from midfold.keys import BudgetBook, BudgetPeriod, KeyBudget, KeyRing, OverBudget
from midfold.tokens import CanonicalUsage, price

MODEL = "openai/gpt-5-mini"
USED = CanonicalUsage(10_000, 1_000)


@pytest.fixture
def key(tmp_path):
    return KeyRing(tmp_path).create("ci", budget_dollars=Decimal("0.10")).key


@pytest.fixture
def book(tmp_path):
    return BudgetBook(tmp_path)


def test_a_hundred_at_the_limit_spend_no_more_than_there_is(tmp_path, key):
    taken = []

    def take():
        with suppress(OverBudget):
            taken.append(BudgetBook(tmp_path).reserve(key, Decimal("0.009")))

    threads = [threading.Thread(target=take) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 11
    assert BudgetBook(tmp_path).spent(key) == Decimal("0.099")


def test_processes_share_one_book(tmp_path, key, book):
    code = (
        "import sys; from pathlib import Path; from decimal import Decimal\n"
        "from midfold.keys import BudgetBook, KeyRing, OverBudget\n"
        "home = Path(sys.argv[1]); key = KeyRing(home).list_all()[0]\n"
        "for _ in range(20):\n"
        "    try: BudgetBook(home).reserve(key, Decimal('0.01'))\n"
        "    except OverBudget: break\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(2)]
    assert [each.wait(60) for each in running] == [0, 0]
    assert book.spent(key) == Decimal("0.10")


def test_a_call_is_booked_at_its_price_in_place_of_its_reservation(key, book):
    reservation = KeyBudget(key, book).reserve(MODEL, 10_000, 2_000)
    assert book.spent(key) >= reservation.dollars > 0
    reservation.settle(USED)
    assert float(book.spent(key)) == pytest.approx(float(price(USED, MODEL).dollars))


def test_a_call_without_an_answer_costs_nothing_and_one_without_a_report_all_of_it(key, book):
    key_budget = KeyBudget(key, book)
    key_budget.reserve(MODEL, 10_000, 2_000).release()
    assert book.spent(key) == 0
    reservation = key_budget.reserve(MODEL, 10_000, 2_000)
    reservation.settle(None)
    assert book.spent(key) == pytest.approx(reservation.dollars)
    key_budget.reserve(MODEL, 10, 10).settle(None, Decimal("0.02"))
    assert book.spent(key) == pytest.approx(reservation.dollars + Decimal("0.02"))


def test_a_model_without_a_price_cannot_be_paid(key, book):
    with pytest.raises(OverBudget, match="the price of openai/nobody-knows is not known"):
        KeyBudget(key, book).reserve("openai/nobody-knows", 10, 10)


def test_what_a_dead_gateway_put_aside_counts_as_spent(tmp_path, key):
    now = [1_000_000.0]
    book = BudgetBook(tmp_path, clock=lambda: now[0])
    name = book.reserve(key, Decimal("0.06"))
    now[0] += 4_000
    book.settle(key, book.reserve(key, Decimal("0.01")), Decimal("0.01"))
    assert book.spent(key) == Decimal("0.07")
    book.settle(key, name, Decimal("0"))
    assert book.spent(key) == Decimal("0.07")


def test_a_budget_is_whole_again_in_the_next_period(tmp_path):
    now = [1_700_000_000.0]
    book = BudgetBook(tmp_path, clock=lambda: now[0])
    ring = KeyRing(tmp_path)
    keys = {
        each: ring.create(each.value, budget_dollars=Decimal(1), period=each).key for each in BudgetPeriod
    }
    for key in keys.values():
        book.settle(key, book.reserve(key, Decimal(1)), Decimal(1))
    now[0] += 86_400
    assert [book.spent(key) for key in keys.values()] == [0, 1, 1]
    now[0] += 40 * 86_400
    assert [book.spent(key) for key in keys.values()] == [0, 0, 1]
    with pytest.raises(OverBudget, match=r"\$0.0000 left of \$1 in all"):
        book.reserve(keys[BudgetPeriod.EVER], Decimal("0.01"))


def test_a_damaged_book_lets_nobody_spend(tmp_path, key, book):
    book.path.write_text("[1]")
    with pytest.raises(ConfigError, match="gateway-spending"):
        book.reserve(key, Decimal("0.01"))
