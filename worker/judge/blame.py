"""Whose task's code runs in the judge. It can end this process (os._exit, a signal, a crash in C),
and then a file of the worker's says which task it was. One that has done so twice is unusable: the
worker tells the next judge. The file is written before and after each call of a task's code, so it
is mapped by nobody and costs one system call."""

import hashlib
import json
import os

WHY = (
    "its code ended the process that runs it, twice: os._exit, a signal, a crash in C, or more "
    "memory than there is"
)
_SIZE = 256


class Blame:
    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600) if path else -1
        self.line = b""  # of the job whose steps are taken
        self.blamed: set[str] = set()

    def turn(self, job: str, task: str) -> None:
        """The steps of this job follow."""
        self.line = f"{job} {task}\n".encode().ljust(_SIZE)

    def note(self, runs: bool) -> None:
        """A task's code runs, or has returned."""
        if self.fd >= 0:
            os.pwrite(self.fd, self.line if runs else b"\n", 0)


def key(asked: dict) -> str:
    """The task of a job: its text and its sidecar."""
    task = asked["task"]
    text = json.dumps([task["source"], task.get("sidecar")], sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
