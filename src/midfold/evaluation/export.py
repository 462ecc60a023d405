"""A report as plain values for JSON: the figures, and everything behind them by conversation."""

from dataclasses import asdict

from midfold.evaluation.report import Report
from midfold.evaluation.run import Score
from midfold.redact import redact


def as_values(report: Report) -> dict[str, object]:
    """Return the report under the names that scripts rely on."""
    return {
        "figures": [asdict(figures) for figures in report.figures],
        "chains": [asdict(chain) for chain in report.chains],
        "conversations": [_score_values(score) for score in report.scores],
        "chained": [asdict(link) for link in report.links],
        "unusable": [{"path": str(found.path), "reason": found.reason} for found in report.unusable],
    }


def _score_values(score: Score) -> dict[str, object]:
    return {
        "conversation": score.conversation,
        "method": score.method,
        "ratio": score.ratio,
        "tokens_before": score.tokens_before,
        "tokens_after": score.tokens_after,
        "ceiling": score.ceiling,
        "cpu_ms": round(score.cpu_ms, 1),
        "owes_must_keep": score.owes_must_keep,
        "is_idempotent": score.is_idempotent,
        "inventions": list(map(redact, score.inventions)),
        "problems": list(score.problems),
        "secrets": list(score.secrets),
        "probes": [
            {
                **asdict(verdict.probe),
                "question": redact(verdict.probe.question),
                "answer": redact(verdict.probe.answer),
                "fate": verdict.fate,
                "by_question": verdict.by_question,
            }
            for verdict in score.verdicts
        ],
    }
