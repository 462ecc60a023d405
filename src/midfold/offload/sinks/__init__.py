"""Where output is kept: files of its owner's alone, or memory."""

from midfold.offload.sinks.files import FileSession, FileSink, is_temporary
from midfold.offload.sinks.memory import MemorySink
from midfold.offload.sinks.records import SUFFIX
from midfold.offload.sinks.usage import KeptFile, Place, Quotas, walk

__all__ = [
    "SUFFIX",
    "FileSession",
    "FileSink",
    "KeptFile",
    "MemorySink",
    "Place",
    "Quotas",
    "is_temporary",
    "walk",
]
