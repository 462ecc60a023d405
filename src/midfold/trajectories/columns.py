"""Parquet: the column with the trajectories is rewritten, all others travel as they are, types and all.

Rows pass between processes as Arrow streams. Since a Parquet file cannot be continued after a kill, they are
collected as such and become Parquet when all of them are there. Importing this loads pyarrow.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

from midfold.late_dataclasses import dataclass
from midfold.trajectories.chunks import (
    MEGABYTE,
    Chunk,
    ChunkLimits,
    Columns,
    Extent,
    Position,
    UnreadableRow,
    refuse_rest,
)
from midfold.trajectories.sources import InputFile, Sampler

# The names that data sets use, the likeliest first.
_NAMES = ("conversations", "messages")
_WRITTEN_NAME = "conversations"
_TURNS = pa.list_(pa.struct([("from", pa.string()), ("value", pa.string())]))
_ROW_GROUP_BYTES = 64 * MEGABYTE
_LENGTH_BYTES = 8
_REASON_CHARS = 200
# Arrow takes bytes for text unseen; what is no UTF-8 fails where it becomes a text of Python, or was one.
_BAD_VALUE = (pa.ArrowException, UnicodeError)


@dataclass(frozen=True, slots=True)
class WrittenColumns:
    """A frame to be collected, and which of the values that were given it could not hold."""

    frame: bytes
    refused: tuple[int, ...] = ()


def read_columns(
    source: InputFile, begin: Position, sampler: Sampler, limits: ChunkLimits
) -> Iterator[Chunk]:
    """Yield a file from `begin` on, at least one chunk of it; what cannot be read is listed in them."""
    reached = begin
    try:
        with _open(source) as file:
            column = _find_column(file.schema_arrow)
            if column is None:
                reason = f"no column called {' or '.join(_NAMES)} holds turns or text"
                yield refuse_rest(source.name, begin, source.size, reason)
                return
            for extent, table in _read_tables(file, source, begin, limits):
                yield _make_chunk(extent, source, _as_plain(table, column), column, sampler)
                reached = extent.next
    except (*_BAD_VALUE, OSError) as error:
        reason = " ".join(str(error).split())[:_REASON_CHARS]
        damage = f"the file is damaged from here on: {reason}"
        yield refuse_rest(source.name, reached, source.size, damage)


def count_rows(source: InputFile) -> int:
    """Return the number of rows, as the file says; none where it cannot be read."""
    try:
        with _open(source) as file:
            rows: int = file.metadata.num_rows
            return rows
    except _BAD_VALUE:
        return 0


def take_trajectories(columns: Columns) -> list[dict[str, object] | UnreadableRow]:
    """Return one row for each row of the table, with nothing but its trajectory."""
    column = _decode(columns.table).column(columns.column)
    try:
        return [{columns.column: _without_nulls(value)} for value in column.to_pylist()]
    except _BAD_VALUE:
        return [_take_one(columns.column, value) for value in column]


def pick_rows(columns: Columns, indices: Sequence[int]) -> Columns:
    """Return the rows at these indices."""
    table = _decode(columns.table).take(pa.array(indices, pa.int64()))
    return Columns(tuple(columns.numbers[index] for index in indices), _encode(table), columns.column)


def put_trajectories(columns: Columns, kept: Sequence[int], values: Sequence[object]) -> WrittenColumns:
    """Return the rows at the indices `kept` with other trajectories; what cannot be written is refused."""
    table = _decode(columns.table)
    index = table.schema.get_field_index(columns.column)
    written = _written_schema(table.schema, columns.column)
    kind = written.field(index).type
    refused: tuple[int, ...] = ()
    try:
        array = pa.array(values, kind)
    except _BAD_VALUE:
        good = [_is_writable(value, kind) for value in values]
        refused = tuple(row for row, is_good in zip(kept, good, strict=True) if not is_good)
        kept = [row for row, is_good in zip(kept, good, strict=True) if is_good]
        array = pa.array([value for value, is_good in zip(values, good, strict=True) if is_good], kind)
    arrays = table.take(pa.array(kept, pa.int64())).columns
    arrays[index] = array
    return WrittenColumns(_frame(_encode(pa.table(arrays, schema=written))), refused)


def seal_columns(part: Path, sealed: Path, source: InputFile) -> None:
    """Make a Parquet file from the frames in `part`; one without rows has the columns all the same.

    Nothing is made where there are no frames because the source itself cannot be read.
    """
    schema = _sealed_schema(part, source)
    if schema is None:
        return
    with pq.ParquetWriter(sealed, schema, compression="zstd") as writer:
        waiting: list[pa.Table] = []
        for table in _read_frames(part):
            waiting.append(table)
            if sum(each.nbytes for each in waiting) >= _ROW_GROUP_BYTES:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def _sealed_schema(part: Path, source: InputFile) -> pa.Schema | None:
    first = next(_read_frames(part), None)
    if first is not None:
        return first.schema
    try:
        with _open(source) as file:
            column = _find_column(file.schema_arrow)
            return _written_schema(file.schema_arrow, column) if column else file.schema_arrow
    except (pa.ArrowException, OSError):
        return None


def _open(source: InputFile) -> pq.ParquetFile:
    # Read ahead, a whole row group would be held at once, and some files are one.
    return pq.ParquetFile(source.path, pre_buffer=False, buffer_size=MEGABYTE)


def _find_column(schema: pa.Schema) -> str | None:
    for name in _NAMES:
        if name in schema.names and (_is_text(kind := schema.field(name).type) or _is_turns(kind)):
            return name
    return None


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _as_plain(table: pa.Table, column: str) -> pa.Table:
    """Write texts in full that are numbered or shared: those that are written are all different."""
    index = table.schema.get_field_index(column)
    plain = _plain_field(table.schema.field(index))
    if plain.type == table.schema.field(index).type:
        return table
    return table.set_column(index, plain, table.column(index).cast(plain.type))


def _plain_field(field: pa.Field) -> pa.Field:
    is_shared = pa.types.is_dictionary(field.type) or pa.types.is_string_view(field.type)
    return field.with_type(pa.large_string()) if is_shared and _is_text(field.type) else field


def _is_turns(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(is_list and pa.types.is_struct(kind.value_type))


def _written_schema(schema: pa.Schema, column: str) -> pa.Schema:
    """Return the columns as they are written: turns of any kind become ShareGPT's, under its name."""
    index = schema.get_field_index(column)
    field = schema.field(index)
    plain = _plain_field(field)
    name = column if _WRITTEN_NAME in schema.names else _WRITTEN_NAME
    is_ours = _is_text(field.type) or {each.name for each in field.type.value_type} >= {"from", "value"}
    written = plain.with_name(name).with_type(plain.type if is_ours else _TURNS)
    # What readers noted about types, beside the schema, is true only as long as nothing changes.
    return schema if written == field else schema.set(index, written).remove_metadata()


def _read_tables(
    file: pq.ParquetFile, source: InputFile, begin: Position, limits: ChunkLimits
) -> Iterator[tuple[Extent, pa.Table]]:
    all_rows = file.metadata.num_rows
    at = 0
    for group in range(file.num_row_groups):
        facts = file.metadata.row_group(group)
        if at + facts.num_rows <= begin.offset:
            at += facts.num_rows
            continue
        fitting = limits.chunk_bytes * facts.num_rows // max(1, facts.total_byte_size)
        size = max(1, min(fitting, limits.chunk_rows))
        for batch in file.iter_batches(size, row_groups=[group], use_threads=False):
            stop = at + batch.num_rows
            if at >= begin.offset:
                read_bytes = source.size * stop // all_rows
                extent = Extent(begin.file, at, stop, at + 1, batch.num_rows, stop == all_rows, read_bytes)
                yield extent, pa.Table.from_batches([batch])
            at = stop
    if not all_rows:
        yield Extent(begin.file, 0, 0, 1, 0, True, source.size), file.schema_arrow.empty_table()


def _make_chunk(extent: Extent, source: InputFile, table: pa.Table, column: str, sampler: Sampler) -> Chunk:
    numbers = sampler.pick(source.name, range(extent.first_row, extent.first_row + extent.rows))
    if len(numbers) < extent.rows:
        table = table.take(pa.array([number - extent.first_row for number in numbers], pa.int64()))
    return Chunk(extent, source.name, Columns(tuple(numbers), _encode(table), column))


def _take_one(column: str, value: pa.Scalar) -> dict[str, object] | UnreadableRow:
    try:
        return {column: _without_nulls(value.as_py())}
    except UnicodeDecodeError as error:
        return UnreadableRow(f"byte {error.start} of {column} is not UTF-8")
    except _BAD_VALUE as error:
        return UnreadableRow(f"{column} cannot be read: {type(error).__name__}")


def _is_writable(value: object, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except _BAD_VALUE:
        return False
    return True


def _without_nulls(value: object) -> object:
    """Leave out what Arrow adds to a turn because another turn has it."""
    match value:
        case dict():
            return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
        case list():
            return [_without_nulls(inner) for inner in value]
        case _:
            return value


def _encode(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _decode(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def _frame(data: bytes) -> bytes:
    return len(data).to_bytes(_LENGTH_BYTES) + data


def _read_frames(part: Path) -> Iterator[pa.Table]:
    with part.open("rb") as file:
        while length := file.read(_LENGTH_BYTES):
            yield _decode(file.read(int.from_bytes(length)))
