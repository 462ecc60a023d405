"""Reading and writing files that are not the store's, so that a failure leaves the old one."""

from midfold.files.atomic import refuse_read_only, replace_file, write_atomically
from midfold.files.folders import refuse_foreign_folder, refuse_planted
from midfold.files.readers import open_to_read, read_bytes
from midfold.files.store_files import (
    BelongsToStore,
    Hold,
    held_files,
    identify,
    is_held,
    is_store_name,
    refuse_store_file,
)

__all__ = [
    "BelongsToStore",
    "Hold",
    "held_files",
    "identify",
    "is_held",
    "is_store_name",
    "open_to_read",
    "read_bytes",
    "refuse_foreign_folder",
    "refuse_planted",
    "refuse_read_only",
    "refuse_store_file",
    "replace_file",
    "write_atomically",
]
