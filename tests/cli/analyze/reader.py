"""A model that is asked about borrowing: one request, standard input to output.

    reader.py LOG [WORD]

It names lines and examples at random, some of which do not exist. The first answer about a task
with WORD in its name cannot be read; `bad` makes all so. LOG gets a line for each answer: purpose,
task, attempt and text, as JSON.
"""

import json
import random
import sys


def findings(key: dict) -> list[dict]:
    draw = random.Random(f"{key['task']} {key['attempt']}")
    found = []
    for _ in range(draw.randint(1, 5)):
        ranges = [[100000, 100001]]
        for _ in range(draw.randint(0, 3)):
            first = draw.randint(-3, 40)
            ranges.append([first, first + draw.randint(-2, 15)])
        found.append({"parent_id": str(draw.randint(1, 5)), "concept": "c", "parent_lines": [[1, 2]],
                      "target_lines": ranges, "rationale": "-"})  # fmt: skip
    return found


def main(log: str, word: str = "-") -> None:
    key = json.load(sys.stdin)["key"]
    broken = word == "bad" or (word in key["task"] and key["stage"] == "borrowing")
    text = "Here:\n```json\n" + json.dumps({"borrowed": findings(key)}) + "\n```"
    text = "I see nothing." if broken else text
    with open(log, "a", encoding="utf-8") as f:
        f.write(json.dumps([key["stage"], key["task"], key["attempt"], text]) + "\n")
    print(json.dumps({"text": text, "usage": {"input": 1000, "output": 100}}))


if __name__ == "__main__":
    main(*sys.argv[1:])
