"""Files of trajectories: found, read in chunks with constant memory, sampled, and written again."""

from midfold.trajectories.files.chunks import (
    DIGEST_LIMITS,
    MODEL_LIMITS,
    START,
    Chunk,
    Columns,
    Extent,
    Limits,
    Lines,
    Listed,
    Position,
    Unreadable,
)
from midfold.trajectories.files.reading import (
    Selection,
    check_extras,
    count_rows,
    make_sampler,
    read_chunks,
    read_file,
)
from midfold.trajectories.files.sampling import Sampler, Share, read_share
from midfold.trajectories.files.sources import Form, Source, find_sources, fingerprint, form_for

__all__ = [
    "DIGEST_LIMITS",
    "MODEL_LIMITS",
    "START",
    "Chunk",
    "Columns",
    "Extent",
    "Form",
    "Limits",
    "Lines",
    "Listed",
    "Position",
    "Sampler",
    "Selection",
    "Share",
    "Source",
    "Unreadable",
    "check_extras",
    "count_rows",
    "find_sources",
    "fingerprint",
    "form_for",
    "make_sampler",
    "read_chunks",
    "read_file",
    "read_share",
]
