"""Similar texts: 18,162 synthetic rows, as long as KernelBook's, against 250 synthetic tasks.
Wall and processor time, and the ratio to rapidfuzz's process.cdist in one run.

    python3 bench/decontaminate.py BUILD_FOLDER [ROWS]

The rows are made of lines of Python's standard library; lengths are log-normal with KernelBook's
median (1,004 characters) and mean (1,578); one row in 50 is a changed copy of a task. rapidfuzz gets
the threshold (score_cutoff=75) and all processors (workers=-1). Both must decide alike. Needs
.venv-data (./setup test) and numpy (.venv).
"""

from __future__ import annotations

import json
import math
import os
import platform
import random
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / f".venv-data/lib/python3.{sys.version_info[1]}/site-packages"
NUMPY = ROOT / f".venv/lib/python3.{sys.version_info[1]}/site-packages"
MEDIAN, MEAN, LONGEST, TASKS = 1004, 1578, 60883, 250


def make_texts(rows: int) -> tuple[list[str], list[str]]:
    r = random.Random(1)
    lines = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        lines += path.read_text().splitlines(keepends=True)
    sigma = math.sqrt(2 * math.log(MEAN / MEDIAN))

    def text(length: int) -> str:
        at, out = r.randrange(len(lines)), ""
        while len(out) < length:
            out += lines[at % len(lines)]
            at += 1
        return out[:length]

    tasks = [text(min(8000, max(300, int(r.lognormvariate(math.log(1500), 0.6)))))
             for _ in range(TASKS)]  # fmt: skip
    out = []
    for i in range(rows):
        if i % 50:
            out.append(text(min(LONGEST, max(100, int(r.lognormvariate(math.log(MEDIAN), sigma))))))
            continue
        copy = list(r.choice(tasks))
        for _ in range(int(len(copy) * r.choice([0.05, 0.2, 0.3]))):
            copy[r.randrange(len(copy))] = r.choice("abcdefgh ")
        out.append("".join(copy))
    return tasks, out


def processor_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def ours(build: Path, tasks: list[str], rows: list[str]) -> tuple[list[bool], float, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tasks").mkdir()
        for i, text in enumerate(tasks):
            (folder / "tasks" / f"{i}.py").write_text(text)
        with (folder / "rows.jsonl").open("w") as file:
            file.writelines(json.dumps({"python_code": t}) + "\n" for t in rows)
        before, used = time.monotonic(), processor_s(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [build / "monkeys", "decontaminate", "--fuzzy-only", "--json", "--against",
             folder / "tasks", folder / "rows.jsonl", "-o", folder / "out.jsonl"],
            check=True, capture_output=True)  # fmt: skip
        wall = time.monotonic() - before
        used = processor_s(resource.RUSAGE_CHILDREN) - used
    return [not json.loads(line)["kept"] for line in done.stdout.splitlines()], wall, used


def theirs(tasks: list[str], rows: list[str]) -> tuple[list[bool], float, float]:
    from rapidfuzz import fuzz, process

    before, used = time.monotonic(), processor_s(resource.RUSAGE_SELF)
    scores = process.cdist(rows, tasks, scorer=fuzz.ratio, score_cutoff=75, workers=-1)
    found = (scores >= 75).any(axis=1).tolist()
    return found, time.monotonic() - before, processor_s(resource.RUSAGE_SELF) - used


def main() -> None:
    sys.path[:0] = [str(SITE), str(NUMPY)]
    try:
        import numpy  # noqa: F401
        import rapidfuzz  # noqa: F401
    except ImportError as problem:
        print(f"bench/decontaminate: skipped: {problem}; ./setup test installs it")
        return
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 18162
    tasks, rows = make_texts(count)
    print(f"bench/decontaminate: {count} rows, {TASKS} tasks, {os.cpu_count()} processors, "
          f"{platform.machine()}")  # fmt: skip
    mine, wall, used = ours(Path(sys.argv[1]), tasks, rows)
    other, other_wall, other_used = theirs(tasks, rows)
    differ = sum(a != b for a, b in zip(mine, other))
    print(f"  monkeys   {wall:7.1f} s, {used:7.1f} s of processors; {sum(mine)} similar")
    print(f"  rapidfuzz {other_wall:7.1f} s, {other_used:7.1f} s of processors; {differ} decisions differ")
    print(f"  ratio of processor time {other_used / used:.1f}, of wall {other_wall / wall:.1f}")


main()
