"""Reads KernelBook's rows and converts them, for `monkeys tasks import-kernelbook`, which starts it
with a socket as descriptor 3:
    python importer.py --home DIR --box auto|full|thin|none [--unsafe] [--scale] --from ROW INPUT

For each frame `next` there is one answer: `row`, or `end` after the last one; `error` for a file
that is not right, `unfit` where this cannot work. Rows before --from are only identified.

This process reads the file and says how tasks are named. Programs are parsed in others, which are
forked from here and can do nothing but that: their box shows no file at all, and they may not start
a process. No torch is needed."""

import argparse
import collections
import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import struct
from collections.abc import Iterator

from kernelbook import book_rows, convert
from shared.frames import CONTROL, MAX_PAYLOAD, Broken, Frame
from shared.frames import recv_frame, recv_message, send_frame, send_message

USER = 61000  # whom the parser becomes if this is root, as candidates do
MOST_FILES = 1 << 12  # more are not open here
MOST_S = 60  # for one program
REFUSALS = ("syntax", "entry", "collision", "import", "arguments", "random", "output")
MOST_PARSERS = 4
LIMITS = {"as": 2 << 30, "nproc": 0, "nofile": 16, "fsize": 0}


class NoBox(Exception):
    """No sandbox can be made here."""


class Parser:
    """The boxed process. One that a program has broken is replaced."""

    def __init__(self, o: argparse.Namespace) -> None:
        self.library = ctypes.CDLL(os.path.join(o.home, "libmonkeys-box.so"))
        levels = ["full", "thin"] if o.box == "auto" else [o.box] if o.box != "none" else []
        users = (USER, 0) if os.getuid() == 0 else (0,)  # root may be nobody else in a container
        self.boxes = [(level, user) for level in levels for user in users]
        self.boxes += [("none", 0)] if o.unsafe else []
        self.start()

    def start(self) -> None:
        why = "--box none parses programs without a sandbox; add --unsafe if you mean it"
        for level, user in self.boxes:
            self.sock, theirs = socket.socketpair()
            self.pid = os.fork()
            if not self.pid:
                os.closerange(CONTROL, theirs.fileno())
                os.closerange(theirs.fileno() + 1, MOST_FILES)
                self.run(level, user, theirs)
            theirs.close()
            try:
                said, _ = recv_message(self.sock, MAX_PAYLOAD)
            except Broken as problem:
                said = {"problem": str(problem)}
            if "problem" not in said:
                limit = struct.pack("ll", MOST_S, 0)
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
                return
            why = f"{said['problem']}; --unsafe parses programs without a sandbox"
            self.stop()
        raise NoBox(why)

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.sock.close()

    def ask(self, entry: str, code: str, scale: bool) -> None:
        with contextlib.suppress(OSError):  # if it is gone, there is no answer either
            send_message(self.sock, {"entry": entry, "code": code, "scale": scale})

    def answer(self) -> dict:
        with contextlib.suppress(Broken, OSError):
            said = recv_message(self.sock, MAX_PAYLOAD)[0]
            if is_sound(said):
                return said
        self.stop()
        self.start()
        return {"reason": "syntax", "detail": "line 1: Python's parser crashes or hangs"}

    # ---- in the other process ----

    def run(self, level: str, user: int, sock: socket.socket) -> None:
        try:
            gc.disable()  # nothing here goes round in a circle
            self.enter(level, user, sock)
            send_message(sock, {})
            while True:
                m, _ = recv_message(sock, MAX_PAYLOAD)
                send_message(sock, convert.convert_row(m["entry"], m["code"], m["scale"]))
        except BaseException as problem:  # noqa: BLE001 - nothing of the caller's runs here
            if isinstance(problem, OSError):
                send_message(sock, {"problem": str(problem)})
        finally:
            os._exit(1)

    def enter(self, level: str, user: int, sock: socket.socket) -> None:
        """An empty folder is the root of a full box, which takes the place of any that is there."""
        if level == "none":
            return
        limits = [f"limit {name} {n}" for name, n in LIMITS.items()]
        policy = "\n".join([f"level {level}", "root /tmp", "tmp 65536", f"uid {user}", *limits, ""])
        self.step("box_outer", policy)
        if level == "full":  # the new namespaces are those of its child
            inner = os.fork()
            if inner:
                sock.close()
                os.waitpid(inner, 0)
                os._exit(0)
        self.step("box_inner", policy)

    def step(self, name: str, policy: str) -> None:
        why = ctypes.create_string_buffer(1024)
        if getattr(self.library, name)(policy.encode(), why, len(why)) < 0:
            raise OSError(why.value.decode(errors="replace"))


def is_sound(said: dict) -> bool:
    """Whether it is what convert() gives: a program may have taken over the parser."""
    if said.get("reason") != "kept":
        return said.get("reason") in REFUSALS and isinstance(said.get("detail"), str)
    texts, sizes, changes = (said.get(name) for name in ("texts", "sizes", "changes"))
    return (isinstance(texts, list) and all(isinstance(t, str) for t in texts)
            and isinstance(changes, list) and all(c in convert.CHANGES for c in changes)
            and (sizes is None or isinstance(sizes, list)) and len(texts) == len(sizes or [0])
            and all(type(n) is int and 0 <= n < 1 << 20 for n in sizes or [0]))  # fmt: skip


class Conversion:
    """Of all rows, in their order, on several processors."""

    def __init__(self, o: argparse.Namespace) -> None:
        self.o = o
        self.first = getattr(o, "from")
        processors = min(len(os.sched_getaffinity(0)), MOST_PARSERS)
        self.free = [Parser(o) for _ in range(processors)]
        self.asked: collections.deque[tuple[book_rows.Row, Parser | None]] = collections.deque()
        self.total, self.rows = book_rows.read(o.input)

    def answers(self) -> Iterator[dict]:
        mistake = None
        try:
            for row in self.rows:
                while not self.free or len(self.asked) > MOST_PARSERS:
                    yield self.answer()
                self.asked.append((row, self.give(row)))
        except book_rows.BadInput as problem:  # it comes after the rows before it
            mistake = problem
        while self.asked:
            yield self.answer()
        if mistake:
            raise mistake

    def give(self, row: book_rows.Row) -> Parser | None:
        entry, code = row.text("entry_point"), row.text("python_code")
        if row.number < self.first or not entry or code is None:
            return None
        parser = self.free.pop()
        parser.ask(entry, code, self.o.scale)
        return parser

    def answer(self) -> dict:
        row, parser = self.asked.popleft()
        found = {"stem": row.stem(), "done": row.done, "total": self.total, "line": row.line()}
        if parser:
            self.free.append(parser)
            return parser.answer() | {"source": row.source()} | found  # what is ours counts
        fields = "python_code and entry_point must be texts"
        return found | {"reason": "fields", "detail": fields}


def answers(o: argparse.Namespace) -> Iterator[Frame]:
    try:
        for found in Conversion(o).answers():
            yield Frame("row", payload=json.dumps(found).encode())
    except book_rows.BadInput as problem:
        yield Frame("error", payload=str(problem).encode())
    except OSError as problem:
        yield Frame("unfit", payload=f"{o.input}: {problem.strerror or problem}".encode())
    except NoBox as problem:
        yield Frame("unfit", payload=str(problem).encode())
    yield Frame("end")


def importer_options() -> argparse.Namespace:
    p = argparse.ArgumentParser()
    p.add_argument("--home", required=True)
    p.add_argument("--box", choices=("auto", "full", "thin", "none"), required=True)
    p.add_argument("--unsafe", action="store_true")
    p.add_argument("--scale", action="store_true")
    p.add_argument("--from", type=int, required=True)
    p.add_argument("input")
    return p.parse_args()


def main() -> None:
    """The next rows are converted while the last one is worked on."""
    o = importer_options()
    monkeys = socket.socket(fileno=CONTROL)
    try:
        for frame in answers(o):
            recv_frame(monkeys)
            send_frame(monkeys, frame)
        recv_frame(monkeys)
    except (Broken, OSError):
        pass  # it has what it wants, or is gone


if __name__ == "__main__":
    main()
