"""Code in a process of its own that begins with torch imported: one process imports
it and forks for each piece of code, as a zygote does for candidates."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Reads a line for each process, and answers with its exit status.
SERVER = """
import json, os, sys, traceback
sys.path.insert(0, sys.argv[1])
import torch
import zygote
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            for number in (1, 2):
                os.dup2(os.open(order["output"], os.O_WRONLY | os.O_APPEND), number)
            os.environ.clear()
            os.environ.update(order["environment"])
            sys.path.insert(0, order["pack"])
            exec(compile(order["code"], "<code>", "exec"), {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@functools.cache
def _server() -> subprocess.Popen:
    """Ends with its input: with this process."""
    argv = [sys.executable, "-B", "-c", SERVER, str(ROOT / "worker")]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(pack: Path, code: str, **environment: str) -> object:
    """What `code` leaves in `result`; the modules of the worker and of `pack` are there."""
    server = _server()
    with tempfile.NamedTemporaryFile() as output:
        order = {
            "code": code + "\nimport json\nprint(json.dumps(result))\n",
            "environment": {**os.environ, **environment},
            "pack": str(pack),
            "output": output.name,
        }
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        status = server.stdout.readline().strip()
        said = output.read().decode(errors="replace")
    assert status == "0", f"status {status}: {said}"
    return json.loads(said.splitlines()[-1])
