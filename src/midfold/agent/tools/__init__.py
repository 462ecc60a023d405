"""The tools that the model may call, within bounds that they keep by themselves."""

from midfold.agent.tools.registry import Tool, ToolFailed, tool

__all__ = ["Tool", "ToolFailed", "tool"]
