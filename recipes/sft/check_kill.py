#!/usr/bin/env python3
"""Checks that a training that is killed (SIGKILL) ends with the weights of one that is not.

    python3 recipes/sft/check_kill.py [KILLS [SEED]]

Needs what train.py needs; no weights and no network. Trains a tiny random model on the CPU, once
undisturbed, and once killed at random moments and started again with the same command. Also trains
a grid of two. Prints one JSON object; the exit status is 1 if weights or losses differ."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

HERE = Path(__file__).parent
FLAGS = ["--rank", "4", "--batch", "2", "--epochs", "6", "--save-every", "3", "--lr", "1e-2",
         "--max-length", "512", "--target", "all"]  # fmt: skip


def make(home: Path) -> None:
    with (home / "data.jsonl").open("w", encoding="utf-8") as out:
        for i in range(12):
            asked = {"role": "user", "content": f"Port task {i}."}
            answer = {"role": "assistant", "content": f"kernel {'abcdef'[i % 6] * 8}"}
            print(json.dumps({"messages": [asked, answer]}), file=out)
    subprocess.run([sys.executable, HERE / "random_model.py", "--data", home / "data.jsonl", "--out",
                    home / "model", "--hidden", "64", "--layers", "1", "--vocab", "300"],
                   check=True, stderr=subprocess.DEVNULL)  # fmt: skip


def start(home: Path, name: str, *more: str) -> subprocess.Popen:
    with (home / f"{name}.out").open("a") as log:
        return subprocess.Popen(
            [sys.executable, HERE / "train.py", "--model", home / "model", "--data",
             home / "data.jsonl", "--out", home / name, *FLAGS, *more],
            stdout=log, stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip


def steps(home: Path, name: str) -> int:
    path = home / name / "log.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def kill_some(home: Path, kills: int, moments: random.Random) -> int:
    """Kills when so many further steps are logged: at any place in a step, a save or a start."""
    killed = 0
    for _ in range(kills):
        p = start(home, "killed")
        enough = steps(home, "killed") + moments.randint(0, 7)
        while p.poll() is None and steps(home, "killed") < enough:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.05))
        p.kill()
        killed += p.wait() == -9
    return killed


def state(home: Path, name: str) -> dict[str, torch.Tensor]:
    return torch.load(home / name / "adapter/state.pt", weights_only=True)["weights"]


def main() -> int:
    kills, seed = (int(word) for word in [*sys.argv[1:], *("5", "1")[len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make(home)
        codes = [start(home, "whole").wait()]
        killed = kill_some(home, kills, random.Random(seed))
        codes.append(start(home, "killed").wait())
        codes.append(start(home, "grid", "--grid", "batch=2,4", "epochs=1").wait())
        whole, again = state(home, "whole"), state(home, "killed")
        told = [json.loads((home / n / "summary.json").read_text()) for n in ("whole", "killed")]
        names = ("steps", "loss_first", "loss_last", "tokens")
        found = {
            "kills": killed,
            "steps": told[0]["steps"],
            "steps_begun": steps(home, "killed"),
            "same_weights": all(torch.equal(again[n], w) for n, w in whole.items()),
            "same_summary": all(told[0][n] == told[1][n] for n in names),
            "grid": sorted(p.parent.name for p in (home / "grid").glob("*/summary.json")),
            "exit_statuses": codes,
        }
    print(json.dumps(found))
    good = found["same_weights"] and found["same_summary"] and len(found["grid"]) == 2
    return 0 if good and not any(codes) and killed else 1


if __name__ == "__main__":
    sys.exit(main())
