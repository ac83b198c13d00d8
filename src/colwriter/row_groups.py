"""Row groups that end by their size in bytes: how many rows make one."""

from __future__ import annotations

from bisect import bisect_right

import pyarrow as pa

from colwriter.stored import as_stored, without_views

__all__ = ["ByteLimits"]


class ByteLimits:
    """Cuts row groups that keep to limits in bytes, ``encoded`` in the file and ``decoded`` in Arrow buffers.

    Decoded bytes are counted, as ``pyarrow.Table.nbytes`` does, in the types of ``schema``: a dictionary's values count
    for each row that has them, and views as large strings. Encoded bytes are known only after encoding, and are
    foretold: so many for each decoded byte as on average, or as in the row group before if those were more, and as many
    as decoded for the first. So a row group passes that limit where the data suddenly compress less.
    """

    def __init__(self, encoded: int, decoded: int, schema: pa.Schema) -> None:
        self._encoded = encoded
        self._decoded = decoded
        self._schema = schema
        self._encoded_written = self._decoded_written = 0
        self._encoded_per_decoded = 1.0
        self._rows = 1024
        self._decoded_bytes = 0

    @property
    def most(self) -> int:
        """Decoded bytes that the next row group may have."""
        return int(min(self._decoded, self._encoded / self._encoded_per_decoded))

    def stored(self, table: pa.Table) -> pa.Table:
        """The table in the types that are counted, and shredded."""
        if table.schema.types == self._schema.types:
            return table
        columns = [as_stored(column, field) for column, field in zip(table.columns, self._schema, strict=True)]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def cut(self, table: pa.Table, most_rows: int) -> pa.Table:
        """The rows at the start of ``table`` that make the next row group: at least one, at most ``most_rows``."""
        most_rows, most = min(most_rows, table.num_rows), self.most
        # A guess that grows: what is far behind the row group's end need not be brought into another type.
        count = min(self._rows, most_rows)
        rows = self.stored(table.slice(0, count))
        counted = _without_views(rows)
        while count < most_rows and counted.nbytes <= most:
            count = min(2 * count, most_rows)
            rows = self.stored(table.slice(0, count))
            counted = _without_views(rows)
        fitting = bisect_right(range(1, count + 1), most, key=lambda n: counted.slice(0, n).nbytes)
        self._rows = max(fitting, 1)
        self._decoded_bytes = counted.slice(0, self._rows).nbytes
        return rows.slice(0, self._rows)

    def learn(self, encoded: int) -> None:
        """Note that the row group that was cut last was written, and took ``encoded`` bytes."""
        decoded = max(self._decoded_bytes, 1)
        self._encoded_written += encoded
        self._decoded_written += decoded
        self._encoded_per_decoded = max(encoded / decoded, self._encoded_written / self._decoded_written)


def _without_views(rows: pa.Table) -> pa.Table:
    return pa.table([without_views(column) for column in rows.columns], rows.column_names)
