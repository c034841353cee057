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


def beside(pid: int) -> list[int]:
    """The living processes that a boxed process started, and those that they left. Its parent, the
    keeper of the box, is an ancestor of them all; so is process 1 of the box's namespace."""
    found = []
    with contextlib.suppress(OSError):
        for one in descendants(int(_fields(pid)[1])):
            if one != pid and not _is_first(one) and _fields(one)[0] not in "ZX":
                found.append(one)
    return found


def _is_first(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    numbers = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return len(numbers) > 1 and numbers[-1] == "1"


def _fields(pid: int) -> list[str]:
    """Of its stat, from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def used_s(pid: int) -> tuple[float, bool]:
    """The processor time of the process and its descendants, and whether one of them computes, or
    would if it had a processor."""
    used, runs = 0, False
    for one in (pid, *descendants(pid)):
        with contextlib.suppress(OSError):
            fields = _fields(one)
            used += sum(map(int, fields[11:15]))
            runs = runs or fields[0] == "R"
    return used * TICK_S, runs
