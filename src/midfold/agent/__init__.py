"""A small real agent on top of everything below: `from midfold.agent import Agent`.

Its conversation is folded before it outgrows the window, and kept whole in the session store. It needs the
extra `models`.
"""

from midfold.agent.agent import Agent
from midfold.agent.approvals import allow_edits, allow_everything
from midfold.agent.edit_history import FileChangedSince, NoEditToUndo
from midfold.agent.events import (
    ApprovalRequested,
    CompressionFinished,
    CompressionStarted,
    Continued,
    Done,
    Event,
    Interrupted,
    Level,
    ModelCalled,
    Notice,
    Pressure,
    ReasoningDelta,
    Recovering,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Topic,
    Why,
)
from midfold.agent.loop import NothingToAnswer
from midfold.agent.memory import Memory, Target
from midfold.agent.reports import Preview, Spending, Status
from midfold.agent.runner import AgentBusy
from midfold.agent.saved_model import SavedModel, load_saved_model
from midfold.agent.session import ContinuedElsewhere
from midfold.agent.setup import Options
from midfold.agent.tools import Proposal, RecallTool, Risk, Tool, ToolFailed, recall_tool, tool

__all__ = [
    "Agent",
    "AgentBusy",
    "ApprovalRequested",
    "CompressionFinished",
    "CompressionStarted",
    "Continued",
    "ContinuedElsewhere",
    "Done",
    "Event",
    "FileChangedSince",
    "Interrupted",
    "Level",
    "Memory",
    "ModelCalled",
    "NoEditToUndo",
    "NothingToAnswer",
    "Notice",
    "Options",
    "Pressure",
    "Preview",
    "Proposal",
    "ReasoningDelta",
    "RecallTool",
    "Recovering",
    "Risk",
    "SavedModel",
    "Spending",
    "Status",
    "Target",
    "TextDelta",
    "Tool",
    "ToolFailed",
    "ToolFinished",
    "ToolStarted",
    "Topic",
    "Why",
    "allow_edits",
    "allow_everything",
    "load_saved_model",
    "recall_tool",
    "tool",
]
