"""Building one code prompt with a guide of 60 KB and three examples:
microseconds a prompt, and the ratio to hashing its messages from their beginning, in one
run. Processor times.

    python3 bench/prompt.py BUILD_FOLDER
"""

import json
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNT = 1000
GUIDE = 60_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        packs = Path(folder)
        for name in ("common", "c-cpu"):
            shutil.copytree(ROOT / "packs" / name, packs / name)
        guide = packs / "c-cpu/guide.md"
        text = guide.read_text()
        guide.write_text((text * (GUIDE // len(text) + 1))[:GUIDE])
        answer = json.loads(
            subprocess.run(
                [f"{sys.argv[1]}/bench-prompt", ROOT / "prompts", packs / "c-cpu", str(COUNT)],
                check=True,
                capture_output=True,
            ).stdout
        )
    size = (answer["system_bytes"] + answer["user_bytes"]) / 1000
    print(f"one prompt of {size:.0f} KB on {platform.machine()}: {answer['build_us']:.0f} us")
    print(f"hashing its messages from the beginning: {answer['hash_us']:.0f} us")
    print(f"ratio: {answer['build_us'] / answer['hash_us']:.2f}")


main()
