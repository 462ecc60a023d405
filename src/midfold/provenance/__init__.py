"""Who wrote each part of a conversation: the role `user` is not the user.

Clients put reminders, command output, project files, reports of other agents and summaries there, and
people speak in tool results, too. Only a person asks, and only a person or a project file sets rules.
"""

from midfold.provenance.authors import Author

__all__ = ["Author"]
