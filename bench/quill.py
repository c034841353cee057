"""Three methods on a language that no model has seen: replays the recorded runs of
recordings/quill on the 24 starter tasks, and compares them.

    python3 bench/quill.py BUILD_FOLDER

The same model answered all three, with a fresh context for each request. Each run had four
attempts per task, one seed, one example of the pack, the short guide in recordings/quill and no
card. Attempts whose prompts were equal in two runs (the first ones) have equal answers.
"""

import json
import math
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUILL = ROOT / "recordings" / "quill"
METHODS = ("sampling", "refine", "monkeys")
ATTEMPTS = 4


def replay(program: Path, method: str, folder: Path) -> list[dict]:
    """The tasks of the run, which now lies in the folder."""
    argv = [program, "run", "--tasks", "starter", "--dsl", "quill", "--device", "cpu",
            "--method", method, "--attempts", str(ATTEMPTS), "--batch", "8", "--no-timing",
            "--guide", QUILL / "guide.md", "--no-card", "--pack-seeds", "1", "--model", "claude",
            "--cassette", QUILL / f"{method}.jsonl", "--replay-strict", "--out", folder]  # fmt: skip
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    argv = [program, "status", folder, "--json", "--tasks"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [record for record in records if "task" in record]


def wilson(solved: int, tasks: int) -> tuple[float, float]:
    """The 95 % interval of a share, in tasks."""
    z, p = 1.96, solved / tasks
    middle = (p + z * z / (2 * tasks)) / (1 + z * z / tasks)
    half = z * math.sqrt(p * (1 - p) / tasks + z * z / (4 * tasks * tasks)) / (1 + z * z / tasks)
    return tasks * (middle - half), tasks * (middle + half)


def mcnemar(one: set[str], other: set[str]) -> float:
    """Two-sided exact p of the tasks that only one of two runs solved."""
    only, n = len(one - other), len(one ^ other)
    tail = sum(math.comb(n, k) for k in range(min(only, n - only) + 1)) / 2**n
    return min(1.0, 2 * tail)


def main() -> None:
    program = Path(sys.argv[1]).resolve() / "monkeys"
    solved: dict[str, list[set[str]]] = {}
    print("method     solved by attempt 1..4   95 % interval  attempts  tokens in/out  not correct")
    for method in METHODS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "run"
            tasks = replay(program, method, folder)
            db = sqlite3.connect(folder / "run.db")
            verdicts = Counter(v for (v,) in db.execute("select verdict from attempt"))
            tokens = db.execute("select sum(input), sum(output) from call").fetchone()
        at = {task["task"]: task["solved_at"] for task in tasks}
        solved[method] = [{t for t, n in at.items() if n and n <= k} for k in range(1, ATTEMPTS + 1)]
        counts = [len(found) for found in solved[method]]
        low, high = wilson(counts[-1], len(at))
        wrong = ", ".join(f"{n} {v}" for v, n in verdicts.most_common() if v != "correct")
        print(f"{method:9}  {' '.join(f'{n:5}' for n in counts)}  of {len(at)}  {low:5.1f} to {high:4.1f}"
              f"  {sum(verdicts.values()):8}  {tokens[0]:7}/{tokens[1]:6}  {wrong}")  # fmt: skip
    for other in ("sampling", "refine"):
        for k in (1, 2, ATTEMPTS):
            one, two = solved["monkeys"][k - 1], solved[other][k - 1]
            print(f"monkeys against {other}, {k} attempts: only monkeys {len(one - two)}, "
                  f"only {other} {len(two - one)}, exact McNemar p = {mcnemar(one, two):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
