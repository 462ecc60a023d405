"""Ready answers to the question whether a tool may go on: `Agent(..., approve=allow_edits)`."""

from midfold.agent.events import ApprovalRequested
from midfold.agent.tools.registry import Risk


def allow_edits(request: ApprovalRequested) -> bool:
    """Allow edits of plain files of the workspace, and nothing else."""
    return request.risk is Risk.EDIT


def allow_everything(_request: ApprovalRequested) -> bool:
    """Allow commands, all edits and changes of the memory: for an agent that can do no harm where it is."""
    return True
