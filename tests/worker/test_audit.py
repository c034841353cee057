"""What is told of a candidate's own code, and what is not: compilers and packs act in its
name. A hook cannot be removed, so each case has a process of its own."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = """
import json, sys
sys.path[:0] = [{worker!r}, {library!r}]
import ctypes, socket, subprocess
import audit, helper
look = audit.Audit({path!r})
code = compile(open({path!r}).read(), {path!r}, "exec")
look.begin()
exec(code, {{"__name__": "candidate"}})
print(json.dumps(look.seen))
"""
HELPER = """
import ctypes, subprocess
def run():
    subprocess.run(["true"])
    ctypes.CDLL("libc.so.6")
    open("/dev/null").close()
"""


def told(folder: Path, source: str) -> dict:
    library = folder / "site-packages"
    library.mkdir()
    (library / "helper.py").write_text(HELPER)
    path = folder / "candidate.py"
    path.write_text(source)
    code = DRIVER.format(worker=str(ROOT / "worker"), library=str(library), path=str(path))
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return json.loads(out.stdout)


@pytest.mark.parametrize(
    "source, kind, what",
    [
        ("import ctypes\nctypes.CDLL('libc.so.6')", "libraries", "ctypes.dlopen libc.so.6"),
        ("import subprocess\nsubprocess.run(['true'])", "processes", "subprocess.Popen true"),
        ("import os\nif os.fork() == 0: os._exit(0)", "processes", "os.fork "),
        ("import socket\nsocket.socketpair()", "sockets", "socket.__new__ <socket.socket"),
        ("open('/dev/null').close()", "files", "open /dev/null"),
        ("exec(\"open('/dev/null').close()\")", "files", "open /dev/null"),
        ("import sched", "imports", "import sched"),
    ],
)
def test_its_own_acts_are_told(tmp_path: Path, source: str, kind: str, what: str) -> None:
    assert any(entry.startswith(what) for entry in told(tmp_path, source)[kind])


def test_what_a_library_does_in_its_name_is_not(tmp_path: Path) -> None:
    assert told(tmp_path, "import helper\nhelper.run()") == {}


def test_a_thread_that_a_library_started_may_go_on(tmp_path: Path) -> None:
    """Nobody but the hook itself is on its stack."""
    made = str(tmp_path / "made")
    told(tmp_path, f"""
import _thread, os, sys
failed = []
sys.unraisablehook = failed.append
_thread.start_new_thread(os.open, ({made!r}, os.O_CREAT | os.O_WRONLY))
while not os.path.exists({made!r}):
    assert not failed
""")


def test_there_is_an_end_to_it(tmp_path: Path) -> None:
    source = "for i in range(100):\n    try:\n        open(f'/none/{i}' + 'x' * 999)\n    except OSError:\n        pass"
    files = told(tmp_path, source)["files"]
    assert len(files) == 20 and max(map(len, files)) == 100
