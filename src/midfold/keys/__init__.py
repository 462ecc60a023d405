"""Keys that the gateway gives out: each has a tenant, upstreams, a budget and a rate of its own."""

from midfold.keys.audit import AUDIT_FILE, AuditLog
from midfold.keys.budget import SPENDING_FILE, BudgetBook, KeyBudget, OverBudget, Reservation
from midfold.keys.rate import KeyGate
from midfold.keys.ring import KEYS_FILE, PREFIX, KeyRing, NewKey
from midfold.keys.virtual_key import BudgetPeriod, VirtualKey

__all__ = [
    "AUDIT_FILE",
    "KEYS_FILE",
    "PREFIX",
    "SPENDING_FILE",
    "AuditLog",
    "BudgetBook",
    "BudgetPeriod",
    "KeyBudget",
    "KeyGate",
    "KeyRing",
    "NewKey",
    "OverBudget",
    "Reservation",
    "VirtualKey",
]
