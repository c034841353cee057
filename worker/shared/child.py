"""A boxed Python process, after the fork: it serves one job and has one of four uses.

    record                runs the candidate's Python, without data (recorder.py)
    compile               compiles checked kernels, without data
    load, run             interprets checked kernels over the judge's region
    direct, map, forward  runs the candidate beside the data, for packs without a
                          recorder (beside.py)

The judge's first message after `ping` says which one it is for. A process has only one use: the
zygote forks a new child each time. It decides nothing.

A failure in the pack's own adapter is ours. A child shows it by ending before it has answered
`ping`. A compiler and an interpreter, in which none of the candidate's host code runs, answer
`broken`."""

import ctypes
import mmap
import os
import re
import signal
import socket
import sys
import traceback
from types import TracebackType

from shared import translation
from shared.adapter import Adapter, Mistake, RuleError
from shared.frames import Broken, recv_message, send_message

LIMIT = 64 << 20  # from the judge, which is trusted: sources are long
TEXT = 16000  # characters of an error that are passed on
# The classes of our own exceptions mean nothing to who wrote the candidate.
_OWN_CLASS = re.compile(r"^(?:recorder|compiler|executor|direct|shared|pack_adapter)(?:\.\w+)+: ?", re.M)
OURS = (__file__, translation.__file__)  # which call the adapter
_PR_SET_DUMPABLE = 4  # 0: nobody else opens its memory, whatever the kernel would allow


class TooLong(Exception):
    """An answer does not fit into the memory that is there for it."""


def innermost(problem: BaseException) -> TracebackType | None:
    """Where it was raised."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def error(stage: str, problem: BaseException, compile: bool, path: str) -> dict:
    """An exception as the judge gets it: its traceback from the candidate's own file or an
    interpreted kernel on, since the frames above are ours, and its own words by themselves."""
    trace = problem.__traceback__
    while trace is not None and not _is_candidates(trace.tb_frame.f_code.co_filename, path):
        trace = trace.tb_next
    text = _OWN_CLASS.sub("", "".join(traceback.format_exception(type(problem), problem, trace)))
    if len(text) > TEXT:
        text = text[: TEXT // 2] + "\n…\n" + text[-TEXT // 2 :]
    name = f"{type(problem).__module__}.{type(problem).__qualname__}".removeprefix("builtins.")
    said = _OWN_CLASS.sub("", "".join(traceback.format_exception_only(problem)))[-TEXT:]
    return {"error": {"stage": stage, "type": name, "text": text, "compile": compile,
                      "message": said, "elsewhere": is_elsewhere(stage, problem, path),
                      "rule": problem.rule if isinstance(problem, RuleError) else None,
                      "unknown": getattr(problem, "unknown", None)}}  # fmt: skip


def is_elsewhere(stage: str, problem: BaseException, path: str) -> bool:
    """Whether the candidate seems to have no part in it: it was raised while a library imported
    another, or by the harness with none of the candidate's code under way. The judge does not
    take this on trust (verdict.check_recorder)."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(problem.__traceback__)]
    own = [i for i, code in enumerate(codes) if _is_candidates(code.co_filename, path)]
    below = codes[own[-1] + 1 :] if own else codes
    bodies = [i for i, code in enumerate(below) if code.co_name == "<module>"]
    if bodies or isinstance(problem, ImportError):
        return bool(below) and bodies[:1] != [0]  # else it is the candidate that imports
    return not own and stage in ("init", "call") and not isinstance(problem, (TypeError, Mistake))


def _is_candidates(file: str, path: str) -> bool:
    return file == path or file.startswith("<kernel ")


class Child:
    def __init__(
        self, sock: socket.socket, adapter: Adapter, folder: str, device: str, identity: str,
        target: str | None,
    ) -> None:  # fmt: skip
        self.sock, self.adapter, self.folder, self.device = sock, adapter, folder, device
        self.identity, self.target = identity, target
        self.path = os.path.join(folder, f"candidate_{os.getpid()}.py")
        self.claims = "cpu"
        self.interpreter = self.beside = None
        self.operations = {
            "ping": self.ping, "record": self.record, "compile": self.compile,
            "load": self.load, "run": self.run, "direct": self.direct, "map": self.map,
            "forward": self.forward,
        }  # fmt: skip

    def ping(self, m: dict, fds: list[int]) -> dict:
        """Before there is a candidate: what compiling will depend on, and the architecture that
        the pack compiles for where there is no GPU. In a recorder also
        what the adapter has to do, so that its faults show while they cannot be a candidate's."""
        if m.get("record"):
            from recorder import recorder

            self.claims = self.adapter.claims()
            self.adapter.install(recorder.current)
        return {"ok": True, "identity": self.identity, "target": self.target}

    def record(self, m: dict, fds: list[int]) -> dict:
        from recorder import recorder

        try:
            data = recorder.record(m | {"claims": self.claims}, self.folder)
        except recorder.Refused as refusal:
            return {"refused": {"rule": refusal.rule, "text": refusal.text}}
        except BaseException as problem:  # noqa: BLE001 - SystemExit too
            return self.error(recorder.stage(), problem)
        return self.hand_over(data, m, fds)

    def compile(self, m: dict, fds: list[int]) -> dict:
        """A compiler, or host functions of the candidate's (hosted_compiler.py), run in programs that
        this process starts: what it says stays its own. An interrupt from one of them would be
        raised wherever this process is, as if the adapter had failed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        try:
            request = m["request"]
            if translate := getattr(self.adapter, "translate", None):
                request = translation.translated(request, translate)
            data = self.adapter.compile(request)
            if not isinstance(data, bytes):
                raise TypeError(f"compile returned {type(data).__name__}, not bytes")
        except BaseException as problem:  # noqa: BLE001
            return self.broken(problem) or self.error("compile", problem)
        return self.hand_over(data, m, fds)

    def load(self, m: dict, fds: list[int]) -> dict:
        region = mmap.mmap(fds[0], m["bytes"])
        try:
            self.interpreter = self.adapter.interpreter(m, region)
        except BaseException as problem:  # noqa: BLE001
            return self.broken(problem) or self.error("compile", problem)
        return {"ok": True}

    def run(self, m: dict, fds: list[int]) -> dict:
        try:
            self.interpreter.run(m["part"], m["config"], m["mute"], m["order"])
        except BaseException as problem:  # noqa: BLE001
            return self.broken(problem) or self.error("call", problem)
        return {"ok": True}

    def direct(self, m: dict, fds: list[int]) -> dict:
        from direct import beside

        self.beside = beside.Beside(self.device, self.path)
        try:
            return self.beside.load(m)
        except BaseException as problem:  # noqa: BLE001
            return self.error(self.beside.stage, problem)

    def map(self, m: dict, fds: list[int]) -> dict:
        return self.beside.map(m, fds)

    def forward(self, m: dict, fds: list[int]) -> dict:
        try:
            return self.beside.forward(m)
        except BaseException as problem:  # noqa: BLE001
            return self.error("call", problem)

    # ---- pieces ----

    def hand_over(self, data: bytes, m: dict, fds: list[int]) -> dict:
        if len(data) > m["bytes"]:
            text = f"the answer has {len(data)} bytes; at most {m['bytes']} are allowed"
            return self.error("compile", TooLong(text))
        at = 0
        while at < len(data):
            at += os.pwrite(fds[0], data[at : at + (1 << 20)], at)
        return {"ok": True, "size": len(data)}

    def broken(self, problem: BaseException) -> dict | None:
        """Whether adapter.py itself raised it, or our call of it: then it is no candidate's
        fault. What a candidate does wrong is raised by those that adapter.py calls, or is an
        error of compiling. Anybody may run out of memory."""
        try:
            if self.adapter.is_compile_error(problem):
                return None
        except Exception as second:  # noqa: BLE001 - that is broken, too
            problem = second
        at = innermost(problem)
        if at is None or isinstance(problem, (MemoryError, RecursionError)):
            return None
        file = at.tb_frame.f_code.co_filename
        if file not in (self.adapter.__file__, *OURS):
            return None
        place = f"line {at.tb_lineno}, in {at.tb_frame.f_code.co_name}"
        said = "".join(traceback.format_exception_only(problem)).strip()
        text = f"{self.adapter.__file__}, {'as it is called' if file in OURS else place}: {said}"
        return {"broken": text[:TEXT]}

    def error(self, stage: str, problem: BaseException) -> dict:
        try:
            return error(stage, problem, self.adapter.is_compile_error(problem), self.path)
        except BaseException:  # noqa: BLE001 - an exception is a candidate's object too
            text = "an exception that cannot be shown"
            return {"error": {"stage": stage, "type": "Exception", "text": text}}

    def serve(self) -> None:
        while True:
            try:
                message, fds = recv_message(self.sock, LIMIT)
            except Broken:
                return
            answer = self.operations[message["op"]](message, fds)
            for fd in fds:
                os.close(fd)
            sys.stdout.flush()
            send_message(self.sock, answer)
