"""Starts a run, kills it at a random moment, goes on with it, and so on.

    kills.py KILLS SECONDS SEED FOLDER PROGRAM ARGUMENT…

SECONDS is how long a run takes that nobody kills. At the end it is let finish.
Prints how often it was killed while it ran; exit status 1 when a start fails.
"""

import random
import subprocess
import sys
from pathlib import Path

kills, seconds, seed, folder, program, *arguments = sys.argv[1:]
moments = random.Random(int(seed))
killed = 0


def start() -> subprocess.Popen:
    there = Path(folder, "run.db").exists()
    words = ["resume", folder] if there else ["run", "--out", folder, *arguments]
    return subprocess.Popen([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def check(p: subprocess.Popen, err: bytes, before: int) -> None:
    if p.returncode != 0:
        print(f"after {before} kills, exit status {p.returncode}: {err.decode()}")
        sys.exit(1)


for _ in range(int(kills)):
    p = start()
    try:
        # Half of the moments are early: a run that goes on has less to do.
        limit = float(seconds) * moments.choice((0.1, 1.0))
        check(p, p.communicate(timeout=moments.uniform(0, limit))[1], killed)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        killed += 1
p = start()
check(p, p.communicate()[1], killed)
print(f"killed {killed} times")
