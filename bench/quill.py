"""Three methods on a language that no model has seen: replays the recorded runs of
recordings/quill on the 24 starter tasks, and compares them.

    python3 bench/quill.py BUILD_FOLDER

The same model answered all three, with a fresh context for each request. Each run had four
attempts per task, one seed, one example of the pack, the short guide in recordings/quill and no
card. Attempts whose prompts were equal in two runs (the first ones) have equal answers.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUILL = ROOT / "recordings" / "quill"


def replay(program: Path, method: str, folder: Path) -> None:
    argv = [program, "run", "--tasks", "starter", "--dsl", "quill", "--device", "cpu",
            "--method", method, "--attempts", "4", "--batch", "8", "--no-timing",
            "--guide", QUILL / "guide.md", "--no-card", "--pack-seeds", "1", "--model", "claude",
            "--cassette", QUILL / f"{method}.jsonl", "--replay-strict", "--out", folder]  # fmt: skip
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def main() -> None:
    program = Path(sys.argv[1]).resolve() / "monkeys"
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / method for method in ("monkeys", "sampling", "refine")]
        for folder in folders:
            replay(program, folder.name, folder)
        subprocess.run([program, "compare", *folders], check=True)


if __name__ == "__main__":
    main()
