"""The tools that the model may call, within bounds that they keep by themselves."""

from midfold.agent.tools.registry import Proposal, Risk, Tool, ToolFailed, tool

__all__ = ["Proposal", "Risk", "Tool", "ToolFailed", "tool"]
