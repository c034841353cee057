"""Qwen tokens: MB/s on one core, and the ratio to tiktoken on the same texts in one run.

    python3 bench/tokens.py BUILD_FOLDER

The texts are this repository's own sources and documents, and the standard library of Python.
Both encode in memory, best of 3 rounds, processor time. Needs .venv-data (./setup test).
"""

from __future__ import annotations

import base64
import json
import platform
import subprocess
import sys
import sysconfig
import time
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/data"))
from strings import SPECIALS  # noqa: E402

SITE = ROOT / f".venv-data/lib/python3.{sys.version_info[1]}/site-packages"
VOCAB = SITE / "dashscope/resources/qwen.tiktoken"
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
           r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")  # fmt: skip
ROUNDS = 3


def texts(folder: Path, *ends: str) -> list[Path]:
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in ends and path.is_file():
            try:
                path.read_text()
            except UnicodeDecodeError:
                continue
            found.append(path)
    return found


def main() -> None:
    sys.path.insert(0, str(SITE))
    try:
        import tiktoken
    except ImportError:
        print("bench/tokens: skipped: no tiktoken in .venv-data; ./setup test installs it")
        return
    lines = (line.split() for line in VOCAB.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    special = {text: len(ranks) + i for i, text in enumerate(SPECIALS)}
    encoding = tiktoken.Encoding("qwen", pat_str=PATTERN, mergeable_ranks=ranks,
                                 special_tokens=special)  # fmt: skip
    print(f"bench/tokens: one core, processor time, {platform.machine()}")
    sets = {
        "C, Markdown": texts(ROOT / "src", ".c", ".h") + texts(ROOT / "docs", ".md"),
        "Python": texts(Path(sysconfig.get_path("stdlib")), ".py")[:1200],
    }
    for name, files in sets.items():
        argv = [Path(sys.argv[1]) / "bench-tokens", VOCAB, str(ROUNDS), *files]
        mine = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
        strings = [unicodedata.normalize("NFC", f.read_bytes().decode()) for f in files]
        best, count = float("inf"), 0
        for _ in range(ROUNDS):
            before = time.process_time()
            count = sum(len(encoding.encode(s, allowed_special="all")) for s in strings)
            best = min(best, time.process_time() - before)
        size = mine["bytes"] / 1e6
        print(f"  {name:12} {len(files):5} files, {size:5.1f} MB: {size / mine['seconds']:6.1f} MB/s; "
              f"tiktoken {size / best:5.1f} MB/s; ratio {best / mine['seconds']:5.1f}; "
              f"tokens {mine['tokens']} and {count}")  # fmt: skip


main()
