"""The tools that the model may call, within bounds that they keep by themselves."""

from midfold.agent.tools.own_recall import RecallTool, recall_tool
from midfold.agent.tools.registry import Proposal, Risk, Tool, ToolFailed, tool

__all__ = ["Proposal", "RecallTool", "Risk", "Tool", "ToolFailed", "recall_tool", "tool"]
