"""A model that divides tests/cli/decompose/task.py, for the tests of `decompose --llm`.

    model.py LOG HOW…   one request: standard input to output

LOG gets the turn of each request. HOW is one word a turn, the last for all further turns:
`good`, `wrong` (a piece whose declared shape is a lie), `claims` (pieces that do not compose),
`words` (no JSON), `form` (JSON of another form), `late` (no JSON, once there is a file LOG.go),
or `hang` (no answer until whoever asked has ended).
"""

import json
import os
import sys
import time

HEAD = "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"
DRAW = "\n\ndef get_inputs():\n    return [{}]\n\n\ndef get_init_inputs():\n    return []\n"


def source(arguments: str, line: str, *drawn: str) -> str:
    forward = f"    def forward(self, {arguments}):\n        return {line}\n"
    return HEAD + forward + DRAW.format(", ".join(drawn))


def tensor(name: str, shape: list[int], origin: str = "") -> dict:
    spec = {"name": name, "shape": shape, "dtype": "fp32"}
    return spec | {"from": origin, "dist": {"kind": "normal", "a": 0, "b": 1}} if origin else spec


def proposal(how: str) -> dict:
    scale, spread = ("0.5", "2.8") if how == "claims" else ("0.25", "1.4")
    scores = {
        "id": "scores", "title": "positive scores", "kind": "partition",
        "inputs": [tensor("q", [24, 32], "orig:q"), tensor("k", [24, 32], "orig:k")],
        "outputs": [tensor("s", [24, 25] if how == "wrong" else [24, 24])], "depends_on": [],
        "source": source("q, k", f"torch.relu(q @ k.T) * {scale}", "torch.randn(24, 32)",
                         "torch.randn(24, 32)"),
        "why": "a product with what follows it",
    }  # fmt: skip
    mixed = {
        "id": "mixed", "title": "weighted sum", "kind": "partition",
        "inputs": [tensor("s", [24, 24], "scores:0"), tensor("v", [24, 32], "orig:v")],
        "outputs": [tensor("o", [24, 32])], "depends_on": ["scores"],
        "source": source("s, v", "s @ v", f"torch.relu(torch.randn(24, 24) * {spread})",
                         "torch.randn(24, 32)"),
        "why": "the second product",
    }  # fmt: skip
    return {"problem_id": "mine", "level": "fine", "subproblems": [scores, mixed],
            "composition": {"claimed": True, "output": "mixed:0", "covers": ["scores", "mixed"]}}  # fmt: skip


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[1])


def main(log: str, *how: str) -> None:
    request = json.load(sys.stdin)
    prompt = request["messages"][-1]["content"]
    refused = [line.split(":")[0] for line in prompt.splitlines() if line.startswith("answer ")]
    turn = len(set(refused)) + 1
    with open(log, "a") as f:
        f.write(f"{turn}\n")
    word = how[min(turn, len(how)) - 1]
    if word == "hang":
        asker = parent_of(os.getppid())  # our parent is the shell that it started
        while parent_of(os.getppid()) == asker:
            time.sleep(0.05)
        return
    while word == "late" and not os.path.exists(f"{log}.go"):
        time.sleep(0.05)
    if word in ("words", "late"):
        print("I would rather not divide it.")
    elif word == "form":
        print(json.dumps({"pieces": []}))
    else:
        print("Here it is.\n```json\n" + json.dumps(proposal(word)) + "\n```")


main(*sys.argv[1:])
