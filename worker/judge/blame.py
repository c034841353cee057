"""Whose task's code runs in the judge. It can end this process (os._exit, a signal, a crash in C),
and then a file of the worker's, which is empty otherwise, says which task it was. One that has done
so twice is unusable. The file is written before and after each call of a task's code, so it is
mapped by nobody and costs one system call."""

import contextlib
import hashlib
import json
import os
from pathlib import Path

WHY = (
    "its code ended the process that runs it, twice: os._exit, a signal, a crash in C, or more "
    "memory than there is"
)
ENDS = 2  # of judges that a task may cause: the first may be chance


class Blame:
    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600) if path else -1
        self.line = b""  # of the job whose steps are taken
        self.book, last = Path(path + ".ends"), Path(path + ".last")
        self.ends: list[list[str]] = []  # of each judge that a task's code ended: the job and the task
        for file in (self.book, last) if path else ():
            with contextlib.suppress(FileNotFoundError):
                self.ends += [line.split() for line in file.read_text().splitlines()]
        if self.ends:
            self.keep()
            last.unlink(missing_ok=True)

    def keep(self) -> None:
        self.book.write_text("".join(f"{job} {task}\n" for job, task in self.ends))

    def turn(self, job: str, task: str) -> None:
        """The steps of this job follow."""
        self.line = f"{job} {task}\n".encode()

    def note(self, runs: bool) -> None:
        """A task's code runs, or has returned."""
        if self.fd >= 0 and runs:
            os.pwrite(self.fd, self.line, 0)
        elif self.fd >= 0:
            os.ftruncate(self.fd, 0)

    def blames(self, task: str) -> bool:
        return sum(one == task for _, one in self.ends) >= ENDS

    def judged(self, job: str, task: str) -> None:
        """A task that has been judged is not what ended the judge."""
        if [job, task] in self.ends and not self.blames(task):
            self.ends = [end for end in self.ends if end[1] != task]
            self.keep()


def blame_key(asked: dict) -> str:
    """The task of a job: its text and its sidecar."""
    task = asked["task"]
    text = json.dumps([task["source"], task.get("sidecar")], sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
