"""A small model writes the summary of a fold: what it leaves out is put back, what it makes up is named."""

import json
from typing import NamedTuple

import pytest

import midfold
from midfold.wire.validate import validate

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

# The window that the conversation is folded for; the summariser's own may be smaller.
WINDOW_TOKENS = 8_192
RULE = "Never edit migrations/0042_fees.sql."
DIFFERENCES = "\n".join(
    f"invoice {number}: {number % 97}.45 in the report, {number % 97}.46 in the ledger"
    for number in range(88120, 88134)
)
PASSED = "\n".join(f"tests/billing/test_discounts.py::test_percentage[{n}] PASSED" for n in range(5, 80, 5))


class Round(NamedTuple):
    """A request, the tool that was called for it, and what was said in the end."""

    asked: str
    tool: str
    arguments: dict[str, str]
    result: str
    said: str


ROUNDS = (
    Round(
        f"Totals in reports/2026-03.csv are off by one cent. {RULE}",
        "compare_totals",
        {"report": "reports/2026-03.csv"},
        "2,310 rows compared, 14 differ by 0.01 EUR",
        "14 of 2,310 rows are off by a cent.",
    ),
    Round(
        "Which ones?",
        "list_differences",
        {"report": "reports/2026-03.csv"},
        DIFFERENCES,
        "Invoices 88120 to 88133, all of them with a percentage discount. Fixed discounts agree.",
    ),
    Round(
        "Where does it come from?",
        "read_file",
        {"path": "src/billing/rounding.py"},
        "86 def round_positions(positions):\n"
        "87     # the ledger rounds the sum\n"
        "88     return sum(position.quantize(CENT, ROUND_HALF_UP) for position in positions)\n"
        "89\n"
        "90 def round_refund(positions):\n"
        "91     return -round_positions([-position for position in positions])",
        "Line 88 rounds every position before it adds them up; the ledger rounds the sum once.",
    ),
    Round(
        "Fix it, and keep the names of the public functions.",
        "edit_file",
        {"path": "src/billing/rounding.py", "line 88": "return sum(positions).quantize(CENT, ROUND_HALF_UP)"},
        "src/billing/rounding.py: 1 line replaced",
        "round_positions() adds up first and rounds the sum. Its name and arguments are as before.",
    ),
    Round(
        "Run the tests of billing.",
        "run",
        {"command": "pytest -v tests/billing"},
        f"{PASSED}\n"
        "FAILED tests/billing/test_refunds.py::test_refund_keeps_sign\n"
        "AssertionError: Decimal('-0.01') != Decimal('0.00')\n"
        "31 passed, 1 failed in 4.1 s",
        "test_refund_keeps_sign fails: half up takes -0.005 away from zero.",
    ),
    Round(
        "How are refunds to be rounded?",
        "read_file",
        {"path": "docs/ledger.md"},
        "# BANK-LEDGER-3\n"
        "Charges are rounded half up, refunds half to even. Sums are rounded, positions are not. This holds "
        "for statements after 2025-07-01; older ones are left as they are.",
        "I decided for ROUND_HALF_EVEN in round_refund(), because BANK-LEDGER-3 wants it for refunds.",
    ),
    Round(
        "Do so and run everything.",
        "run",
        {"command": "pytest"},
        "212 passed in 48.2 s",
        "All 212 tests pass. March agrees; February has the same mistake in 11 rows, not touched yet.",
    ),
)


def tell_story():
    messages = [{"role": "system", "content": "You are a careful programmer."}]
    for number, told in enumerate(ROUNDS):
        function = {"name": told.tool, "arguments": json.dumps(told.arguments)}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": told.asked},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": told.result},
            {"role": "assistant", "content": told.said},
        ]
    return [*messages, {"role": "user", "content": "What is left to do for February?"}]


@pytest.fixture(scope="module")
def result(open_model, server):
    """The conversation, folded once with the model as its summariser: it takes a minute or two."""
    model = open_model("openai_chat")

    def summarise(request: midfold.SummaryRequest) -> str:
        return model.complete(request.prompt, max_output=request.max_tokens).text

    return midfold.compress(
        tell_story(),
        summarizer=summarise,
        context_length=WINDOW_TOKENS,
        template="brief",
        tokenizer=server.model,
    )


def test_summary_is_the_model_s_own(result, note):
    assert result.summarizer == "model"
    assert result.warning is None
    note(f"folded {result.tokens_before:,} to {result.tokens_after:,} tokens:\n{result.summary}")


def test_folded_list_is_legal_and_smaller(result):
    assert validate(result.messages, dialect="openai_chat") == []
    assert result.tokens_after < result.tokens_before


def test_facts_and_rules_survive_whatever_the_model_leaves_out(result):
    assert result.retention.facts > 0
    assert result.retention.missing == ()
    assert RULE in str(result.messages)


def test_what_the_model_makes_up_is_named(result, note):
    """A small model makes things up, or it does not: what it says without a source is told either way."""
    original = str(result.originals)
    assert all(invention not in original for invention in result.retention.invented)
    note(f"without a source: {', '.join(result.retention.invented) or 'nothing'}")


def test_fold_can_be_taken_back(result):
    assert result.restore() == tell_story()
