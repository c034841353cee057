"""The methods against each other on a made-up model (bench/sim.c tells the
rule), 20 seeds each, with 95 % intervals.

    python3 bench/sim.py BUILD_FOLDER [SEEDS]

It is a simulation: it shows that the scheduler lets solved tasks teach others
when examples teach at all, and gains nothing when they do not. It cannot show
how much a real model learns from an example.
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TASKS = 48
RUNS = [("monkeys", "alternating"), ("monkeys", "similar"), ("monkeys", "random"),
        ("sampling", "alternating"), ("refine", "alternating"),
        ("evolve", "alternating"), ("combined", "alternating")]  # fmt: skip
T95 = {5: 2.776, 10: 2.262, 20: 2.093}


def one(program: Path, world: str, method: str, retrieval: str, seed: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        argv = [program, folder, world, method, retrieval, str(seed)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["solved"]


def interval(values: list[float]) -> tuple[float, float]:
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values), spread * T95.get(len(values), 2.0)


def main() -> None:
    program = Path(sys.argv[1]) / "bench-sim"
    seeds = range(1, 1 + int(sys.argv[2] if len(sys.argv) > 2 else 20))
    print(f"bench/sim: a SIMULATION, {TASKS} tasks, 15 attempts, {len(seeds)} seeds; solved tasks")
    for world in ("deaf", "learns"):
        got: dict[tuple[str, str], list[int]] = {}
        with ThreadPoolExecutor(2) as pool:
            for run in RUNS:
                got[run] = list(pool.map(lambda s, r=run: one(program, world, *r, s), seeds))
        print(f"  world '{world}'")
        for (method, retrieval), solved in got.items():
            mean, half = interval(solved)
            name = f"{method} ({retrieval})" if method == "monkeys" else method
            print(f"    {name:24} {mean:5.1f} ± {half:.1f}")
        alternating = got[("monkeys", "alternating")]
        for what, other in (("sampling", got[("sampling", "alternating")]),
                            ("random retrieval", got[("monkeys", "random")])):  # fmt: skip
            mean, half = interval([a - b for a, b in zip(alternating, other, strict=True)])
            word = "more" if mean > half else "fewer" if mean < -half else "a tie"
            print(f"    monkeys (alternating) against {what}: {mean:+.1f} ± {half:.1f}: {word}")


main()
