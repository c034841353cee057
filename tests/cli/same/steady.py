"""What a run left, or a command's records, without what differs from run to run.

    steady.py tables RUN     the tables attempt, shown, entry and verdict
    steady.py records        JSON Lines from standard input
"""

import json
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

# Texts whose error figures and times differ, kept by hash.
LOOSE = {"feedback", "record", "max_abs", "max_rel", "error_ratio"}
# Facts about the machine and the clock.
MACHINE = {"timing", "times_ms", "environment", "build", "peak_bytes", "path"}
ROOT = str(Path(__file__).parents[3])
NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+(e[-+]\d+)?|e[-+]\d+)(?![\w.])")


def tables(run: str) -> None:
    db = sqlite3.connect(f"file:{run}/run.db?mode=ro", uri=True)
    for table in ("attempt", "shown", "entry", "verdict"):
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        names = [n for n in names if table != "verdict" or n not in LOOSE]
        # the share of elements that are right depends on the run's own inputs
        shown = {"fitness": "round(fitness, 1)", "cosine": "round(cosine, 6)"}
        columns = ", ".join(shown.get(n, n) for n in names)
        print(table, *names, sep="|")
        for row in db.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3"):
            print(table, *row, sep="|")


def steady(key: str, value: Any) -> Any:
    if key in MACHINE or isinstance(value, float):
        return "~"
    if isinstance(value, dict):
        if "rules" in value and "hash" in value:
            value = value | {"hash": "~"}  # of a pack's files, any of which may change
        return {k: steady(k, v) for k, v in value.items()}
    if isinstance(value, list):
        return [steady("", v) for v in value]
    if isinstance(value, str):
        return NUMBER.sub("~", value.replace(ROOT, "ROOT"))
    return value


def records() -> None:
    for line in sys.stdin:
        print(json.dumps(steady("", json.loads(line)), ensure_ascii=False))


if __name__ == "__main__":
    {f.__name__: f for f in (tables, records)}[sys.argv[1]](*sys.argv[2:])
