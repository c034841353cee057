"""Databases made by hand, for tables with known answers.

    made.py RUN KIND FOLDER    a folder with a run.db of that KIND, in the schema of RUN's
"""

import ctypes
import hashlib
import json
import sqlite3
import sys
from pathlib import Path

HOSTILE = "level1/=1+1|<b>\x1b[2J\u202e_x_"


def zstd(text: bytes) -> bytes:
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
    size = lib.ZSTD_compressBound(ctypes.c_size_t(len(text)))
    out = ctypes.create_string_buffer(size)
    n = lib.ZSTD_compress(out, ctypes.c_size_t(size), text, ctypes.c_size_t(len(text)), 3)
    return out.raw[:n]


class Made:
    def __init__(self, like: str, folder: str) -> None:
        Path(folder).mkdir(parents=True)
        old = sqlite3.connect(f"file:{like}/run.db?mode=ro", uri=True)
        self.db = sqlite3.connect(f"{folder}/run.db")
        old.backup(self.db)
        for (name,) in self.db.execute("select name from sqlite_master where type = 'table'").fetchall():
            if not name.startswith("sqlite_"):
                self.db.execute(f"delete from {name}")

    def put(self, table: str, **row) -> None:
        marks = ", ".join("?" * len(row))
        self.db.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", [*row.values()])

    def text(self, text: str) -> str:
        data = text.encode()
        key = hashlib.sha256(data).hexdigest()
        self.db.execute("insert or ignore into blob values (?, ?, ?)", (key, len(data), zstd(data)))
        return key

    def facts(self, **facts: str) -> None:
        for name, value in facts.items():
            self.put("fact", name=name, value=value)

    def task(self, ord: int, id: str, source: str = "pass\n", **more) -> None:
        self.put("task", ord=ord, id=id, hash=f"{ord:064x}", source=self.text(source), **more)

    def attempt(self, task: int, attempt: int, good: bool, *, compiled: bool = True, shown=(), retrieval="seeds",
                version: int = 1, code: str = "", timing=None, method: str = "monkeys", error: str = "",
                gpu: str = "", moved: int = 0) -> None:  # fmt: skip
        verdict = "correct" if good else "wrong_values" if compiled else "compile_error"
        self.put("attempt", task=task, attempt=attempt, method=method, iteration=attempt, batch=1,
                 archive_version=version, retrieval=retrieval, parent=0, island=-1,
                 code=self.text(code) if code else None, stage="done", verdict=verdict,
                 fitness=float(good), same_as=0, solved=int(good))  # fmt: skip
        text = f"{error}\nHint: Did you mean T.copy?" if error else ""
        record = {"verdict": verdict, "error": error or None, "feedback": text, "environment": {"gpu": gpu},
                  "trace": {"launches": 1, "bytes_read": moved, "bytes_written": 0, "kernels": []}}  # fmt: skip
        self.put("verdict", task=task, attempt=attempt, verdict=verdict, stage="done",
                 evidence="E3" if good else None, compiled=int(compiled), kernelbench_pass=int(good),
                 feedback=self.text(text), record=self.text(json.dumps(record)))  # fmt: skip
        self.put("verdict_time", task=task, attempt=attempt, times=json.dumps({"timing": timing}), wall_us=0,
                 judged_at=0)  # fmt: skip
        for rank, entry in enumerate(shown, 1):
            self.put("shown", task=task, attempt=attempt, rank=rank, entry=entry, cosine=0.5)
        self.call(task, attempt)

    def call(self, task: int, attempt: int) -> None:
        zero = dict.fromkeys(("cached", "reasoning", "estimated", "reserved_usd_micro", "reserved_tokens",
                              "cost_tokens", "assumed_usd_micro", "wall_us", "asked_at", "answered_at"), 0)  # fmt: skip
        self.put("call", purpose="code", asked=f"{task}/{attempt}", **{"try": 1}, task=task, attempt=attempt,
                 state="answered", input=100, output=20, cost_usd_micro=3000, requests=1, **zero)  # fmt: skip

    def entry(self, entry: int, version: int, name: str, origin: str = "run", task: int = -1,
              code: str = "pass\n") -> None:  # fmt: skip
        self.put("entry", entry=entry, version=version, origin=origin, task=task, attempt=int(task >= 0), name=name,
                 problem=self.text("pass\n"), solution=self.text(code), evidence="E3")  # fmt: skip


def medians(ms: float, eager: float, compiled: float) -> dict:
    return {k: {"median": v} for k, v in (("ms", ms), ("reference_ms", eager), ("compile_ms", compiled))}


def common(made: Made, method: str, attempts: int, model: str = "m") -> None:
    made.facts(method=method, model=model, dsl="quill", rules="2", precision="fp32", device="cpu", seed="0",
               attempts=str(attempts), pack_hash="0" * 64)  # fmt: skip


def full(made: Made) -> None:
    """Five samples each: 2, 0 and 5 correct; a fourth task is skipped."""
    common(made, "sampling", 5)
    good = {0: (1, 0, 1, 0, 0), 1: (0, 0, 0, 0, 0), 2: (1, 1, 1, 1, 1)}
    for task, name in enumerate(("level1/a", "level1/b", "level2/c")):
        made.task(task, name)
        for number, ok in enumerate(good[task], 1):
            made.attempt(task, number, bool(ok), method="sampling")
    made.task(3, "level2/d", skipped="it is random")


def timed(made: Made) -> None:
    """a: twice as fast, a tie with compile. b: solved second, a tie with eager. c: its timing
    failed. d: not solved. e: solved, but refused at the end of the run."""
    common(made, "monkeys", 2, "tuned")
    for task, name in enumerate(("level1/a", "level1/b", "level1/c", HOSTILE, "level1/e")):
        made.task(task, name)
    made.entry(1, 1, "seed", "seed")
    made.entry(2, 2, "level1/a", task=0)
    made.entry(3, 2, HOSTILE, task=2)
    made.entry(4, 2, "level1/e", task=4)
    made.put("entry_left", entry=4, left_version=3, why="a cheat")
    made.attempt(0, 1, True, shown=(1,), retrieval="similar", timing=medians(1, 2, 1))
    made.attempt(1, 1, False, shown=(1,), retrieval="similar", compiled=False)
    made.attempt(1, 2, True, shown=(2, 3), retrieval="random", version=2, timing=medians(2, 2, 1))
    made.attempt(2, 1, True, shown=(1,), retrieval="similar")
    made.attempt(3, 1, False, shown=(1,), retrieval="similar")
    made.attempt(3, 2, False, shown=(1, 3), retrieval="random", version=2)
    made.attempt(4, 1, True, shown=(1,), retrieval="similar", timing=medians(1, 9, 9))


def similar(made: Made) -> None:
    common(made, "monkeys", 1, "=1+1,\"m\"")
    made.entry(1, 1, "seed", "seed")
    for task, ok in enumerate((True, False)):
        made.task(task, f"level1/{'ab'[task]}")
        made.attempt(task, 1, ok, shown=(1,), retrieval="similar")


REFERENCE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = nn.LayerNorm(n)

    def forward(self, x):
        return {}
"""
KERNEL = """import tile.language as T
import torch


@T.kernel  # a comment
def f(x):
    \"\"\"T.docs(x)\"\"\"

    return {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return f(x)
"""


def words(made: Made) -> None:
    """a and b are solved with T.sum, c with T.exp; d needs cumsum, which no text shows, and exp,
    which an example does; e needs what a solved task has."""
    common(made, "monkeys", 1)
    made.entry(1, 1, "seed", "seed", code=KERNEL.format("T.load(x)"))
    made.entry(2, 2, "level1/c", task=2, code=KERNEL.format("T.exp(x)"))
    tasks = (("a", "x.sum(1) * 2", "T.sum(x)", True, (1,)), ("b", "torch.sum(x) + 1", "T.sum(T.load(x))", True, (1,)),
             ("c", "torch.exp(x)", "T.exp(x)", True, (1,)), ("d", "torch.cumsum(self.norm(x).exp(), 1)", "T.made(x)", False, (1, 2)),
             ("e", "x.exp().sum()", "T.sum(T.exp(x))", False, (2,)))  # fmt: skip
    for task, (name, forward, code, ok, shown) in enumerate(tasks):
        made.task(task, f"level1/{name}", REFERENCE.format(forward), ops="sum\n")
        made.attempt(task, 1, ok, code=KERNEL.format(code), shown=shown, retrieval="similar", compiled=name != "d",
                     error="" if ok else "no such name: made")  # fmt: skip


def doubtful(made: Made) -> None:
    """a is 25 times as fast as PyTorch, b moves more than the memory can; nothing is wrong with c."""
    common(made, "monkeys", 1)
    for task, (ms, moved) in enumerate(((0.4, 1000), (8, 8 * 10**10), (5, 2 * 10**10))):
        made.task(task, f"level1/{'abc'[task]}")
        made.attempt(task, 1, True, timing=medians(ms, 10, 10), gpu="NVIDIA H200", moved=moved)


def empty(made: Made) -> None:
    common(made, "monkeys", 1)
    made.task(0, "level1/a")


if __name__ == "__main__":
    like, kind, folder = sys.argv[1:]
    made = Made(like, folder)
    {f.__name__: f for f in (full, timed, similar, words, doubtful, empty)}[kind](made)
    made.db.commit()
