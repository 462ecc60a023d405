"""Where output is kept: files of its owner's alone, or memory."""

from midfold.offload.sinks.files import FileSession, FileSink
from midfold.offload.sinks.memory import MemorySink
from midfold.offload.sinks.usage import Quotas

__all__ = ["FileSession", "FileSink", "MemorySink", "Quotas"]
