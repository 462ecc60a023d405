"""An entry of very many messages names the first and the newest ones; the numbers between are left out."""

from midfold.summaries.corrections import find_numbers
from midfold.summaries.digest import read_entries
from midfold.summaries.ledger.values import Ledger
from midfold.summaries.sources import settle_failures

NOTES = "## Blocked\n- [3, …, 9, 19] Bash: make port — [20] Exit code 2"


def test_a_failure_of_very_many_runs_is_read_back_from_earlier_notes():
    [entry] = read_entries(NOTES)
    settle_failures([entry], Ledger().course)
    assert entry.head == "[3, …, 9, 19] Bash: make port"


def test_a_correction_finds_the_numbers_that_are_named():
    assert list(find_numbers("pier.py (changed): Edit [3, …, 9, 19]")) == [3, 9, 19]
    assert list(find_numbers("[3, …, 9] Bash: make")) == [3, 9]
