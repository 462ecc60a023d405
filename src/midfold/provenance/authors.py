"""The authors of what stands in a conversation."""

from enum import StrEnum


class Author(StrEnum):
    """Who wrote a piece of text, whatever role it came under."""

    PERSON = "person"
    HOST = "host"
    """the client: reminders, hooks, caveats, interruption marks, environment, output of commands"""
    AGENT = "agent"
    """another agent, or an automated loop"""
    PROJECT = "project"
    """a rules file, a skill, the body of a command"""
    SUMMARY = "summary"
    """a compaction summary or continuation prompt of some product"""
    TOOL = "tool"
    MODEL = "model"
    """the model whose conversation this is"""
