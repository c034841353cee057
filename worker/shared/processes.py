"""What the kernel tells about processes and their descendants."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Children, their children and so on."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for one in map(int, task.read_text().split()):
                found += [one, *descendants(one)]
    return found


def used_s(pid: int) -> tuple[float, bool]:
    """The processor time of the process and its descendants, and whether one of them computes, or
    would if it had a processor."""
    used, runs = 0, False
    for one in (pid, *descendants(pid)):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            used += sum(map(int, fields[11:15]))
            runs = runs or fields[0] == "R"
    return used * TICK_S, runs
