"""A worker that connects to an owner elsewhere."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_an_owner_that_hangs_up_is_not_asked_all_the_time(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("00" * 32 + "\n")
    key.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        argv = [ROOT / "monkeys-worker", "--connect", address, "--key", key]
        with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as worker:
            began = time.monotonic()
            for _ in range(4):
                listening.accept()[0].close()
            took = time.monotonic() - began
            worker.terminate()
            assert worker.wait(60) is not None
    assert took >= 2.9  # a second between two
