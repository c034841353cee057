"""pytest over files, several at once: a process that is done with a file takes the next.

python tests/files.py PROCESSES FILE[,FILE…]…    the slowest first; prints what each file said

Files joined by commas run one after the other in one process: they share what their helpers
start once for all of it (tests/worker/small_loop.py, forked.py). What each file took goes to
build/tests/times, for tests/slowest.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

NOTHING_TO_RUN = 5  # pytest's status for a file that is skipped as a whole


def processor_s() -> float:
    """Of this process, of those that it has waited for, and of its children that still run
    (tests/worker/forked.py has one) with what they have waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used) + sum(map(running_s, own_children()))


def own_children() -> list[str]:
    lists = Path("/proc/self/task").glob("*/children")
    return [pid for one in lists for pid in one.read_text().split()]


def running_s(pid: str) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def run(file: str) -> tuple[int, str]:
    """Exit status, and what pytest said below a line with the seconds it took."""
    import pytest

    before, used = time.monotonic(), processor_s()
    with tempfile.TemporaryFile() as output:
        for number in (1, 2):
            os.dup2(output.fileno(), number)
        status = int(pytest.main(["-q", "-p", "no:cacheprovider", file]))
        sys.stdout.flush()
        output.seek(0)
        said = output.read().decode(errors="replace")
    took, used = time.monotonic() - before, processor_s() - used
    with Path("build/tests/times").open("a") as times:
        times.write(f"{used:.0f} {took:.0f} {file}\n")
    return status, f"{file}: {took:.0f} s\n{said}"


def run_all(files: list[str]) -> list[tuple[int, str]]:
    return list(map(run, files))


def main() -> int:
    """A process that dies ends the pool, and with it this program."""
    processes, together = int(sys.argv[1]), [word.split(",") for word in sys.argv[2:]]
    sys.path.insert(0, "")
    os.makedirs("build/tests", exist_ok=True)
    count = bad = 0
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(run_all, files) for files in together]):
            for status, said in done.result():
                print(said, flush=True)
                count += 1
                bad += status not in (0, NOTHING_TO_RUN)
    print(f"{count - bad} of {count} files passed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
