"""Measures of what a compression kept, and of whether its notes are true, without any model.

Probes are exact strings that a good compression keeps in context or can give back. They are read from files
or derived from a transcript, and never by the code that writes summaries: a measure that shares rules with
what it measures praises itself. Labels, given by people, say what is so at the end of a conversation.
"""

from midfold.evaluation.baselines import METHODS, Method, MethodOutcome
from midfold.evaluation.ceilings import LADDER, CeilingFigures, CeilingLadder, climb_down
from midfold.evaluation.cells import Table
from midfold.evaluation.conversations import (
    MeasuredConversation,
    Unusable,
    find_transcripts,
    load_conversation,
    make_conversation,
    name_transcript,
)
from midfold.evaluation.engine_runs import EngineFigures, EngineRun, run_engine
from midfold.evaluation.future import FUTURE_RATIOS, FutureFigures, FutureScore, score_future
from midfold.evaluation.gates import Gate, Study, find_misses, read_gates, study_of
from midfold.evaluation.html import write_page
from midfold.evaluation.labels import Labels, find_labels, read_labels
from midfold.evaluation.probes import Probe, ProbeKind, Zone, derive_probes, read_probes
from midfold.evaluation.report import MethodFigures, Report, as_values, summarize
from midfold.evaluation.retention import ProbeFate, ProbeVerdict, classify
from midfold.evaluation.scores import ChainResult, Score, chain_folds, evaluate
from midfold.evaluation.searches import SearchFigures, SearchScore, score_locomo, score_search
from midfold.evaluation.studies import Studies, study_values, summarize_studies
from midfold.evaluation.study_tables import (
    StudySection,
    score_title,
    write_missing_facts,
    write_sections,
    write_wrong_entries,
)
from midfold.evaluation.tables import (
    LIMITS,
    chain_table,
    chains_title,
    headline,
    must_keep_note,
    ratio_tables,
    ratio_title,
)
from midfold.evaluation.truth import judge_truth
from midfold.evaluation.truth_figures import NoteFault, TruthFigures, TruthScore, WrongEntry

__all__ = [
    "FUTURE_RATIOS",
    "LADDER",
    "LIMITS",
    "METHODS",
    "CeilingFigures",
    "CeilingLadder",
    "ChainResult",
    "EngineFigures",
    "EngineRun",
    "FutureFigures",
    "FutureScore",
    "Gate",
    "Labels",
    "MeasuredConversation",
    "Method",
    "MethodFigures",
    "MethodOutcome",
    "NoteFault",
    "Probe",
    "ProbeFate",
    "ProbeKind",
    "ProbeVerdict",
    "Report",
    "Score",
    "SearchFigures",
    "SearchScore",
    "Studies",
    "Study",
    "StudySection",
    "Table",
    "TruthFigures",
    "TruthScore",
    "Unusable",
    "WrongEntry",
    "Zone",
    "as_values",
    "chain_folds",
    "chain_table",
    "chains_title",
    "classify",
    "climb_down",
    "derive_probes",
    "evaluate",
    "find_labels",
    "find_misses",
    "find_transcripts",
    "headline",
    "judge_truth",
    "load_conversation",
    "make_conversation",
    "must_keep_note",
    "name_transcript",
    "ratio_tables",
    "ratio_title",
    "read_gates",
    "read_labels",
    "read_probes",
    "run_engine",
    "score_future",
    "score_locomo",
    "score_search",
    "score_title",
    "study_of",
    "study_values",
    "summarize",
    "summarize_studies",
    "write_missing_facts",
    "write_page",
    "write_sections",
    "write_wrong_entries",
]
