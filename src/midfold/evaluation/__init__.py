"""What a compression kept, measured without any model.

Probes are exact strings that a good compression keeps in context or can give back. They are read from files
or derived from a transcript, and never by the code that writes summaries: a measure that shares rules with
what it measures praises itself.
"""

from midfold.evaluation.baselines import METHODS, Method, Outcome
from midfold.evaluation.conversations import Conversation, Unusable, find_transcripts, load_conversation
from midfold.evaluation.derive import derive_probes
from midfold.evaluation.probes import Kind, Probe, Zone, read_probes
from midfold.evaluation.report import Figures, Report, summarize
from midfold.evaluation.retention import Fate, Verdict, classify
from midfold.evaluation.run import Score, evaluate

__all__ = [
    "METHODS",
    "Conversation",
    "Fate",
    "Figures",
    "Kind",
    "Method",
    "Outcome",
    "Probe",
    "Report",
    "Score",
    "Unusable",
    "Verdict",
    "Zone",
    "classify",
    "derive_probes",
    "evaluate",
    "find_transcripts",
    "load_conversation",
    "read_probes",
    "summarize",
]
