"""Answers for the tests of `monkeys run`, as a cassette on standard output.

    cassette.py ROOT METHOD TASK=WORDS…

WORDS has a letter for each attempt: r right, w wrong values, s refused by the
static rules, n no code, t as r but cut short.
"""

import json
import sys

root, method, *tasks = sys.argv[1:]
print(json.dumps({"cassette": 1, "model": "told", "date": "2026-01-01T00:00:00Z", "note": ""}))


def program(task: str, letter: str, attempt: int) -> str:
    path = f"{root}/tests/verify/c-cpu/{task.partition('/')[2]}.py"
    with open(path, encoding="utf-8") as f:
        right = f.read()
    if letter == "w":  # the first statement of the kernel that ends in a factor of its own
        at = right.index(";\n}", right.index("void "))
        last = right.rindex("=", 0, at)
        return right[: last + 1] + f" {attempt}.5f *" + right[last + 1 :]
    if letter == "s":
        return right + f"\nimport os  # {attempt}\nos.system('true')\n"
    return right


def reply(task: str, letter: str, attempt: int) -> str:
    if letter == "n":
        return f"I would rather not ({attempt})."
    text = f"Here it is.\n\n```python\n{program(task, letter, attempt)}```\n"
    return text[: len(text) // 2] if letter == "t" else text


for word in tasks:
    task, _, letters = word.partition("=")
    for attempt, letter in enumerate(letters, 1):
        stages = {"plan": f"Plan {attempt} for {task}.", "code": reply(task, letter, attempt)}
        if method in ("evolve", "combined"):
            stages = {"evolve": stages["code"]}
        for stage, text in stages.items():
            key = {"task": task, "method": method, "stage": stage, "attempt": attempt}
            usage = {"input": 100, "cached": 0, "output": 50, "reasoning": 0}
            finish = "length" if letter == "t" and stage != "plan" else "stop"
            line = {"key": key, "prompt": "0" * 64, "text": text, "finish": finish}
            print(json.dumps(line | {"usage": usage, "model": "told"}))
