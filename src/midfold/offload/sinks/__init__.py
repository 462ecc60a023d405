"""Where output is offloaded to: files of its owner's alone, or memory."""

from midfold.offload.sinks.disk_usage import OffloadedFile, Quotas, SessionFolder, walk
from midfold.offload.sinks.files import FileSession, FileSink, is_temporary
from midfold.offload.sinks.memory import MemorySink
from midfold.offload.sinks.records import SUFFIX

__all__ = [
    "SUFFIX",
    "FileSession",
    "FileSink",
    "MemorySink",
    "OffloadedFile",
    "Quotas",
    "SessionFolder",
    "is_temporary",
    "walk",
]
