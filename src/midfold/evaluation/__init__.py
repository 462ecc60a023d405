"""Measures of what a compression kept, without any model.

Probes are exact strings that a good compression keeps in context or can give back. They are read from files
or derived from a transcript, and never by the code that writes summaries: a measure that shares rules with
what it measures praises itself.
"""

from midfold.evaluation.baselines import METHODS, Method, MethodOutcome
from midfold.evaluation.conversations import (
    MeasuredConversation,
    Unusable,
    find_transcripts,
    load_conversation,
)
from midfold.evaluation.gates import CHAINS, Gate, find_misses, read_gates
from midfold.evaluation.html import write_page
from midfold.evaluation.probes import Probe, ProbeKind, Zone, derive_probes, read_probes
from midfold.evaluation.report import MethodFigures, Report, as_values, summarize
from midfold.evaluation.retention import ProbeFate, ProbeVerdict, classify
from midfold.evaluation.scores import ChainResult, Score, chain_folds, evaluate
from midfold.evaluation.tables import (
    LIMITS,
    Table,
    chain_table,
    chains_title,
    headline,
    must_keep_note,
    ratio_tables,
    ratio_title,
)

__all__ = [
    "CHAINS",
    "LIMITS",
    "METHODS",
    "ChainResult",
    "Gate",
    "MeasuredConversation",
    "Method",
    "MethodFigures",
    "MethodOutcome",
    "Probe",
    "ProbeFate",
    "ProbeKind",
    "ProbeVerdict",
    "Report",
    "Score",
    "Table",
    "Unusable",
    "Zone",
    "as_values",
    "chain_folds",
    "chain_table",
    "chains_title",
    "classify",
    "derive_probes",
    "evaluate",
    "find_misses",
    "find_transcripts",
    "headline",
    "load_conversation",
    "must_keep_note",
    "ratio_tables",
    "ratio_title",
    "read_gates",
    "read_probes",
    "summarize",
    "write_page",
]
