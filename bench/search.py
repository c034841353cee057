"""What the search itself costs: zero-latency model, instant verdicts.

    python3 bench/search.py BUILD_FOLDER

CPU of the whole process an attempt (scheduler, prompts, retrieval, store with its
writer thread), wall time, peak memory; and how the cost an attempt grows with
the number of tasks.
"""

import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path


def one(program: Path, tasks: int, attempts: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        argv = [program, folder, str(tasks), str(attempts)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    record = json.loads(done.stdout)
    record["cpu_ms"] = record["cpu_s"] * 1e3 / record["attempts"]
    print(f"  {tasks:6} tasks x {attempts:2}: {record['attempts']:6} attempts, "
          f"{record['cpu_ms']:.3f} ms CPU each, {record['wall_s']:.1f} s, "
          f"peak {record['peak_mb']:.0f} MB, {record['solved']} solved")  # fmt: skip
    return record


def main() -> None:
    program = Path(sys.argv[1]) / "bench-search"
    print(f"bench/search: {platform.machine()}; aims: 0.5 ms and 100 MB at 200 x 25")
    small, large = one(program, 200, 25), one(program, 10_000, 5)
    print(f"  10,000 tasks cost {large['cpu_ms'] / small['cpu_ms']:.2f} times as much an attempt "
          "(aim: at most 1.5)")  # fmt: skip


main()
