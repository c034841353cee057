#!/usr/bin/env python3
"""Writes the rows of a Parquet file as JSON Lines, for `monkeys tasks import-kernelbook`.

    python3 parquet_to_jsonl.py dataset_permissive.parquet kernelbook.jsonl

Needs pyarrow. Reads one batch of rows at a time, so memory stays small; the columns with Triton
code, which the import does not use, are left out.
"""

import json
import sys

UNUSED = {"triton_code", "original_triton_code"}


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    import pyarrow.parquet as parquet

    source = parquet.ParquetFile(sys.argv[1])
    columns = [name for name in source.schema_arrow.names if name not in UNUSED]
    rows = 0
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for batch in source.iter_batches(batch_size=256, columns=columns):
            for row in batch.to_pylist():
                out.write(json.dumps(row, default=str) + "\n")
                rows += 1
    print(f"{rows} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
