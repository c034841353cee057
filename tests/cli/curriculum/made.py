"""Makes a folder as `monkeys decompose -o DIR` leaves it, with tasks of the starter
collection as pieces: what they compute does not matter to the search.

    made.py DIR LEVEL PROBLEM=PIECE[<NEEDED],… …

PROBLEM is the id of a task, PIECE and NEEDED are names of files of tasks/starter
without .py. The same piece may belong to several problems.
"""

import json
import sys
from pathlib import Path

STARTER = Path(__file__).parents[3] / "tasks/starter"
TENSOR = {"shape": [2, 2], "dtype": "fp32"}


def main(folder: str, level: str, *words: str) -> None:
    out = Path(folder)
    needs: dict[str, list[str]] = {}
    parents: dict[str, list[dict]] = {}
    (out / "pieces").mkdir(parents=True)
    (out / "problems").mkdir()
    for word in words:
        problem, _, pieces = word.partition("=")
        subs = []
        for n, piece in enumerate(pieces.split(","), 1):
            name, _, needed = piece.partition("<")
            needs[name] = [needed] if needed else []
            parents.setdefault(name, []).append({"problem": problem, "sub": f"part_{n}"})
            source = {"name": "x", "from": "orig:x", **TENSOR}
            result = {"name": "y", **TENSOR}
            subs.append({"id": f"part_{n}", "title": f"the {n}. step", "kind": "partition",
                         "inputs": [source], "outputs": [result], "depends_on": [],
                         "piece": name})  # fmt: skip
        answer = {"problem_id": problem, "level": level, "subproblems": subs, "findings": [],
                  "composition": {"claimed": False, "proved": False, "output": "part_1:0",
                                  "covers": []}}  # fmt: skip
        (out / "problems" / f"{problem.rpartition('/')[2]}.json").write_text(json.dumps(answer))

    def depth(name: str) -> int:
        return max((1 + depth(n) for n in needs[name]), default=0)

    for name in needs:
        sidecar = {"piece": {"title": f"what {name} does", "kind": "partition", "level": level,
                             "depth": depth(name), "needs": needs[name],
                             "parents": parents[name]}}  # fmt: skip
        (out / "pieces" / f"{name}.py").write_text((STARTER / f"{name}.py").read_text())
        (out / "pieces" / f"{name}.json").write_text(json.dumps(sidecar))


if __name__ == "__main__":
    main(*sys.argv[1:])
