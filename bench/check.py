"""The static check of a 10 KB candidate against the triton pack: microseconds a
check, and the ratio to the same patterns in Python's re, in one run.

    python3 bench/check.py BUILD_FOLDER

The whole check is lexing, views, all patterns, and sorting the findings. Python's re
gets the patterns compiled and the views ready made, so the plain ratio of the whole
check to it is to C's disadvantage; it stands beside the ratio to re and Python's
tokenizer together, and beside the same patterns on the same views on both sides. All
are processor times. Both sets are timed: default and paper.
"""

import io
import json
import platform
import re
import subprocess
import sys
import tempfile
import time
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNT = 1000
SIZE = 10_240


def candidate() -> str:
    """A real kernel file, its first kernel repeated under other names to 10 KB."""
    text = (ROOT / "packs/triton/selftest/good/softmax_rows.py").read_text()
    start = text.index("@triton.jit")
    end = text.index("\nclass ", start)
    kernel = text[start:end]
    name = re.search(r"def (\w+)", kernel)[1]
    number = 0
    while len(text.encode()) < SIZE:
        number += 1
        text += "\n\n" + re.sub(rf"\b{name}\b", f"{name}_{number}", kernel)
    return text.encode()[:SIZE].decode(errors="ignore").rsplit("\n\n", 1)[0] + "\n"


def pack_rules(name: str) -> list[dict]:
    """A set of the triton pack, inherited rules included."""
    checks = json.loads((ROOT / "packs/triton/checks.json").read_text())
    chosen = checks["sets"][name]
    rules = []
    for name in chosen.get("extends", []):
        rules += json.loads((ROOT / "packs" / name).read_text())["rules"]
    rules = [r for r in rules if r["id"] not in chosen.get("drop", [])]
    return rules + chosen["rules"]


def python_time(name: str, answer: dict) -> float:
    rules = [
        (re.compile(r["pcre"], re.MULTILINE), answer["views"][r["view"]], r["kind"] == "require")
        for r in pack_rules(name)
    ]
    assert len(rules) == answer["rules"]
    rounds = max(1, COUNT // 10)
    start = time.process_time()
    for _ in range(rounds):
        for pattern, view, first in rules:
            if first:
                pattern.search(view)
            else:
                for _match in pattern.finditer(view):
                    pass
    return (time.process_time() - start) / rounds * 1e6


def tokenize_time(text: str) -> float:
    rounds = max(1, COUNT // 50)
    start = time.process_time()
    for _ in range(rounds):
        for _token in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    return (time.process_time() - start) / rounds * 1e6


def compare(program: Path, name: str, file: str) -> None:
    argv = [program, ROOT / "packs", "triton", name, file, str(COUNT)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    theirs, lexing = python_time(name, answer), tokenize_time(answer["views"]["all"])
    whole, patterns = answer["us_per_check"], answer["us_patterns"]
    print(f"{name}: {answer['rules']} rules")
    print(f"  Python: re, patterns alone {theirs:8.1f} us; its tokenizer {lexing:8.1f} us")
    print(f"  monkeys, whole check:      {whole:8.1f} us; ratio to re {theirs / whole:5.1f}, "
          f"to re and tokenizer {(theirs + lexing) / whole:5.1f}")  # fmt: skip
    print(f"  monkeys, patterns alone:   {patterns:8.1f} us; ratio to re {theirs / patterns:5.1f}")


def main() -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        size = file.write(candidate())
        file.flush()
        print(f"bench/check: {COUNT} checks of {size} bytes, "
              f"{platform.machine()}, Python {platform.python_version()}")  # fmt: skip
        for name in ("default", "paper"):
            compare(Path(sys.argv[1]) / "bench-check", name, file.name)


main()
