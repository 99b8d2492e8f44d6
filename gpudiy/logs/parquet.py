"""Records as Parquet: the columns of `gpudiy.logs.columns`, under their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudiy.logs.columns import EMPTY, SCHEMA, Columns
from gpudiy.logs.problem import LogError

if TYPE_CHECKING:
    import pyarrow

INSTALL = "pip install 'gpudiy[parquet]'"
ROW_GROUP = 1 << 17  # records: a group is read or passed over as one


def write_parquet(columns: Columns, path: Path) -> None:
    """Write the columns under a temporary name, which the caller puts into its place."""
    _arrow().parquet.write_table(table_of(columns), path, compression="zstd", row_group_size=ROW_GROUP)


def table_of(columns: Columns) -> pyarrow.Table:
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
    for column in SCHEMA:
        array = pa.array(columns[column.name], type=pa.string() if column.kind == "category" else types[column.kind])
        arrays.append(array.dictionary_encode() if column.kind == "category" else array)
    return pa.table(arrays, names=[column.name for column in SCHEMA])


def read_parquet_table(path: str, names: tuple[str, ...] | None = None) -> pyarrow.Table:
    """The table of a file, or some of its columns; raises `LogError` for a file that holds no records."""
    pa = _arrow()
    try:
        known = set(pa.parquet.read_schema(path).names)
        if "test" not in known:
            raise LogError("this Parquet file has no column `test`: it is no log", path=path)
        wanted = [column.name for column in SCHEMA if column.name in known]
        if names is not None:
            wanted = [name for name in wanted if name in names]
        categories = [column.name for column in SCHEMA if column.kind == "category" and column.name in wanted]
        return pa.parquet.read_table(path, columns=wanted, read_dictionary=categories, partitioning=None)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise LogError(f"this is no whole Parquet file: {str(error).splitlines()[0]}", path=path) from None


def read_parquet(path: str) -> Columns:
    table = read_parquet_table(path)
    count = table.num_rows
    lists: dict[str, list[Any]] = {}
    for column in SCHEMA:
        if column.name in table.column_names:
            values = table.column(column.name).to_pylist()
            empty = EMPTY[column.name]
            lists[column.name] = values if empty is None else [empty if value is None else value for value in values]
        else:
            lists[column.name] = [EMPTY[column.name]] * count
    if any(min(lists[name], default=0) < 0 for name in ("iterations", "positive", "negative")):
        raise LogError("a count below 0: nothing is counted below 0", path=path)
    return Columns(lists)


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise LogError("Parquet needs pyarrow", hint=f"install it: {INSTALL}") from None
    return pyarrow
