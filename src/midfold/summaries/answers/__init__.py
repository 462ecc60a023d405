"""Judges what a summarising model answered, before anybody believes it.

A model may refuse, echo, call a tool, stop in the middle or answer in another language. Small faults are
repaired, and the rest is named in a few words for the warning; the built-in digest then stands in.
"""

from midfold.summaries.answers.judgement import OVERLONG, Judgement, judge_answer

__all__ = [
    "OVERLONG",
    "Judgement",
    "judge_answer",
]
