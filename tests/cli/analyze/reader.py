"""A model that is asked about borrowing, and what must come of its answers.

    reader.py answer LOG [WORD]     one request: standard input to output; logs its purpose
    reader.py expect RUN ATTEMPT…   the rows of the table, as CSV

It says that lines 1 to 5 come from the first example, and names lines and an example that do not
exist. The first answer about a task with WORD in its name cannot be read; `bad` makes all so.
"""

import json
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "run"))
from answers import unpack  # noqa: E402


def answer(log: str, word: str = "-") -> None:
    request = json.load(sys.stdin)
    key = request["key"]
    with open(log, "a", encoding="utf-8") as f:
        f.write(f"{key['stage']} {key['task']} {key['attempt']}\n")
    found = [{"parent_id": "1", "concept": "start", "parent_lines": [[1, 2]], "rationale": "-",
              "target_lines": [[-3, 3], [3, 5], [100000, 100001]]},
             {"parent_id": "9", "concept": "none", "parent_lines": [[1, 2]], "rationale": "-",
              "target_lines": [[1, 500]]}]  # fmt: skip
    broken = word == "bad" or (word in key["task"] and key["stage"] == "borrowing")
    text = "I see nothing." if broken else "Here:\n```json\n" + json.dumps({"borrowed": found}) + "\n```"
    print(json.dumps({"text": text, "usage": {"input": 1000, "output": 100}}))


def expect(run: str, *numbers: str) -> None:
    db = sqlite3.connect(f"file:{run}/run.db?mode=ro", uri=True)
    print("run,attempt,outcome,kernels,borrowed,unreadable,no_answer")
    for number in map(int, numbers):
        for solved in (1, 0):
            shares = []
            for (data,) in db.execute(
                "select data from attempt a join blob on hash = code where attempt = ? and solved = ? and"
                " exists (select 1 from shown s where s.task = a.task and s.attempt = a.attempt)",
                (number, solved),
            ):
                lines = unpack(data).decode().strip("\n").split("\n")
                shares.append(sum(bool(s.strip()) for s in lines[:5]) / sum(bool(s.strip()) for s in lines))
            if shares:
                mean = sum(shares) / len(shares)
                outcome = "solved" if solved else "failed"
                print(f"{Path(run).name},{number},{outcome},{len(shares)},{mean:.10g},0,0")


if __name__ == "__main__":
    {"answer": answer, "expect": expect}[sys.argv[1]](*sys.argv[2:])
