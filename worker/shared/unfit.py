"""What a judge or zygote says when it cannot start and starting it again would not help."""

import contextlib
import os
import socket
import sys
import traceback
from collections.abc import Iterator

from shared.frames import CONTROL, Frame, send_frame

MOST = 2000


def _why(problem: BaseException) -> str:
    if isinstance(problem, ModuleNotFoundError) and problem.name == "torch":
        return (
            f"{sys.executable} has no torch; ./setup makes an environment that has it, "
            "or MONKEYS_PYTHON names a Python of yours"
        )
    return str(problem) if isinstance(problem, SystemExit) else explained(problem)


def explained(problem: BaseException) -> str:
    """Its own words, and the line that raised it: the adapter's, where it came through one."""
    said = "".join(traceback.format_exception_only(problem)).strip()
    frames = traceback.extract_tb(problem.__traceback__)
    if not frames:
        return said
    own = [f for f in frames if f.filename.endswith("/adapter.py")] or frames
    return f"{said} ({own[-1].filename}, line {own[-1].lineno})"


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Tells the worker what goes wrong inside; then this process ends."""
    try:
        yield
    except (Exception, SystemExit) as problem:
        why = _why(problem)
        if not isinstance(problem, (ImportError, SystemExit)):
            traceback.print_exc()  # into the log, which the worker passes on
            sys.stderr.flush()
        with socket.socket(fileno=os.dup(CONTROL)) as control:
            send_frame(control, Frame("unfit", payload=why[:MOST].encode(errors="replace")))
        os._exit(1)
