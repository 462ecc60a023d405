"""A ledger of state, built by code from the original messages.

It answers what an agent would otherwise read again after a fold: which files were read and changed, which
commands ran and how they ended, what is still broken, what the user asked for and forbade.
"""

from midfold.summaries.ledger.collection import LedgerCache, collect
from midfold.summaries.ledger.values import Action, Ledger, PlanStep, Rule, Statement, ToolRun

__all__ = ["Action", "Ledger", "LedgerCache", "PlanStep", "Rule", "Statement", "ToolRun", "collect"]
