"""Conversations as files: out of a store without their credentials, and in from whatever an agent wrote."""

from midfold.store.transfer.exports import Export, ExportFormat, ExportView, export_session, write_export
from midfold.store.transfer.imports import Imported, Incoming, import_session, read_incoming

__all__ = [
    "Export",
    "ExportFormat",
    "ExportView",
    "Imported",
    "Incoming",
    "export_session",
    "import_session",
    "read_incoming",
    "write_export",
]
