"""What a candidate's own code asks of the system, as Python's audit events tell it:
modules that nobody had imported, files, shared libraries, processes, sockets.

An event is the candidate's when the nearest frame outside Python's own library is of its
file, or of text that was executed: compilers and packs start processes and load libraries
in its name, and that is theirs. A hook cannot be removed, but it lives beside hostile code:
tamper-evident, not proof.
"""

import os
import sys
from sys import _getframe  # by name: a candidate may replace it

KINDS = {
    "import": "imports",
    "open": "files",
    "ctypes.dlopen": "libraries",
    "subprocess.Popen": "processes", "os.system": "processes", "os.exec": "processes",
    "os.posix_spawn": "processes", "os.fork": "processes", "os.forkpty": "processes",
    "socket.__new__": "sockets", "socket.connect": "sockets", "socket.bind": "sockets",
}  # fmt: skip
MOST = 20  # of a kind
TEXT = 100  # characters of each
LIBRARY = os.path.dirname(os.__file__) + os.sep


class Audit:
    def __init__(self, path: str) -> None:
        """`path`: the candidate's file."""
        self.path = path
        self.seen: dict[str, list[str]] = {}

    def begin(self) -> None:
        sys.addaudithook(self._event)

    def _event(self, event: str, args: tuple) -> None:
        kind = KINDS.get(event)
        # Not _getframe(1): in a library's own thread there may be nobody below.
        if kind is None or not self._own(_getframe().f_back):
            return
        found = self.seen.setdefault(kind, [])
        what = f"{event} {args[0] if args else ''}"[:TEXT]
        if len(found) < MOST and what not in found:
            found.append(what)

    def _own(self, frame: object) -> bool:
        while frame is not None and _of_python(frame.f_code.co_filename):
            frame = frame.f_back
        name = frame.f_code.co_filename if frame is not None else ""
        return name == self.path or name.startswith("<")


def _of_python(name: str) -> bool:
    if name.startswith("<frozen "):
        return True
    return name.startswith(LIBRARY) and not ("site-packages" in name or "dist-packages" in name)
