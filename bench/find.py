"""The nearest 3 of many vectors of 1,024 floats: milliseconds a query, and the
ratio to a plain loop over the same floats, in one run.

    python3 bench/find.py BUILD_FOLDER

The query's time includes everything: who may be shown, the cosines, the choice.
The plain loop adds one product after the other, which no compiler may reorder.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path

DIM = 1024


def main() -> None:
    program = Path(sys.argv[1]) / "bench-find"
    print(f"bench/find: nearest 3, {DIM} floats a vector, {platform.machine()}")
    for members, rounds in ((200, 2000), (10_000, 40)):
        argv = [program, str(members), str(DIM), str(rounds)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        ours, plain = answer["us"] / 1e3, answer["plain_us"] / 1e3
        print(f"  {members:6} vectors: {ours:8.4f} ms; plain loop {plain:8.4f} ms; "
              f"ratio {plain / ours:5.1f}; {answer['agree']} of 3 the same")  # fmt: skip


main()
