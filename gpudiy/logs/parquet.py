"""Records as Parquet: the columns of `gpudiy.logs.columns`, under their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudiy.logs.columns import EMPTY, SCHEMA, Columns
from gpudiy.logs.log import LogError

if TYPE_CHECKING:
    import pyarrow

INSTALL = "pip install 'gpudiy[parquet]'"
ROW_GROUP = 1 << 17  # records: a group is read or passed over as one
KEPT = tuple(column for column in SCHEMA if column.name not in ("file", "line"))  # those are of the log that is read


def write_parquet(columns: Columns, path: Path) -> None:
    """Write the columns under a temporary name, which the caller puts into its place."""
    _arrow().parquet.write_table(table_of(columns), path, compression="zstd", row_group_size=ROW_GROUP)


def expect_parquet() -> None:
    """Raise `LogError` where Parquet cannot be written, before there is anything to write."""
    _arrow()


def table_of(columns: Columns) -> pyarrow.Table:
    """The records as an Arrow table, one column for each of the schema."""
    pa = _arrow()
    types = {
        "text": pa.string(),
        "category": pa.dictionary(pa.int32(), pa.string()),
        "integer": pa.int64(),
        "optional": pa.int64(),
        "real": pa.float64(),
        "flag": pa.bool_(),
    }
    arrays = []
    for column in KEPT:
        array = pa.array(columns[column.name], type=pa.string() if column.kind == "category" else types[column.kind])
        arrays.append(array.dictionary_encode() if column.kind == "category" else array)
    return pa.table(arrays, names=[column.name for column in KEPT])


def read_parquet_table(path: str, without: tuple[str, ...] = ()) -> pyarrow.Table:
    """The table of a file without some of its columns; raises `LogError` for a file that holds no records."""
    pa = _arrow()
    try:
        known = set(pa.parquet.read_schema(path).names)
        if "test" not in known:
            raise LogError("this Parquet file has no column `test`: it is not a log", path=path)
        names = [column.name for column in KEPT if column.name in known and column.name not in without]
        categories = [column.name for column in SCHEMA if column.kind == "category" and column.name in names]
        return pa.parquet.read_table(path, columns=names, read_dictionary=categories, partitioning=None)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise LogError(f"this is not a whole Parquet file: {str(error).splitlines()[0]}", path=path) from None


def read_parquet(path: str, without: tuple[str, ...] = ()) -> Columns:
    """The records of a Parquet file. Columns in `without` are not read and stay empty."""
    table = read_parquet_table(path, without)
    count = table.num_rows
    lists: dict[str, list[Any]] = {}
    for column in SCHEMA:
        if column.name in table.column_names:
            lists[column.name] = _values(table.column(column.name), EMPTY[column.name])
        else:
            lists[column.name] = [path if column.name == "file" else EMPTY[column.name]] * count
    if any(min(lists[name], default=0) < 0 for name in ("iterations", "positive", "negative")):
        raise LogError("a count is below 0", path=path)
    return Columns(lists)


def _values(column: pyarrow.ChunkedArray, empty: Any) -> list[Any]:
    """The values of a column as a list: `to_pylist` makes an object of each value first, and this is what costs."""
    count = len(column)
    if column.null_count == count:
        return [empty] * count
    pa = _arrow()
    if pa.types.is_dictionary(column.type):
        column = column.combine_chunks()
        whole = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        words = whole.dictionary.to_pylist()
        if len(words) == 1 and not whole.null_count:
            return [words[0]] * count
        places = whole.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        words.append(empty)
        return [words[place] for place in places.tolist()]
    if column.null_count and pa.types.is_integer(column.type):
        return [empty if value is None else value for value in column.to_pylist()]
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return [empty if value is None else value for value in values] if column.null_count else values


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise LogError("Parquet needs pyarrow", hint=f"install it: {INSTALL}") from None
    return pyarrow
