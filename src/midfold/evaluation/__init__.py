"""What a compression kept, measured without any model.

Probes are exact strings that a good compression keeps in context or can give back. They are read from files
or derived from a transcript, and never by the code that writes summaries: a measure that shares rules with
what it measures praises itself.
"""

from midfold.evaluation.baselines import METHODS, Method, Outcome
from midfold.evaluation.chains import Link, chain_folds
from midfold.evaluation.conversations import Conversation, Unusable, find_transcripts, load_conversation
from midfold.evaluation.derive import derive_probes
from midfold.evaluation.export import as_values
from midfold.evaluation.gates import CHAINS, Gate, find_misses, read_gates
from midfold.evaluation.html import write_page
from midfold.evaluation.probes import Kind, Probe, Zone, read_probes
from midfold.evaluation.report import Figures, Report, summarize
from midfold.evaluation.retention import Fate, Verdict, classify
from midfold.evaluation.run import Score, evaluate
from midfold.evaluation.wording import Table

__all__ = [
    "CHAINS",
    "METHODS",
    "Conversation",
    "Fate",
    "Figures",
    "Gate",
    "Kind",
    "Link",
    "Method",
    "Outcome",
    "Probe",
    "Report",
    "Score",
    "Table",
    "Unusable",
    "Verdict",
    "Zone",
    "as_values",
    "chain_folds",
    "classify",
    "derive_probes",
    "evaluate",
    "find_misses",
    "find_transcripts",
    "load_conversation",
    "read_gates",
    "read_probes",
    "summarize",
    "write_page",
]
