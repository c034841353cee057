"""Compiled objects that outlive a candidate, in the judge.

A pack whose helper compiles C-like text can do that before the candidate runs, in a
boxed process that reads the candidate's file but never runs it (native_adapter.py).
What comes back is stored under the hash of what went in: the candidate's text and
everything else that a build depends on. So whatever a hostile source does to a
compiler, it does to itself alone, and nothing that a running candidate knows, such as
its inputs, can be left for its next verification."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import answers
from buffers import HostBuffer
from steps import Ask, End, Gone

LIMIT = 1 << 30  # bytes of the folder
MOST = 64 << 20  # bytes of one candidate's objects


class Cache:
    """Files named by keys; the one that was not used for longest goes first."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder, self.limit = folder, limit

    def get(self, key: str) -> bytes | None:
        path = self.folder / key
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return data

    def put(self, key: str, data: bytes) -> None:
        """Whole or not at all: several judges may share a folder. One that cannot be
        written, or is full, keeps nothing."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd, name = tempfile.mkstemp(dir=self.folder, prefix=".making-")
            with open(fd, "wb") as file:
                file.write(data)
            os.rename(name, self.folder / key)
            self._shrink()

    def _shrink(self) -> None:
        found = [(entry.stat(), entry.path) for entry in os.scandir(self.folder)]
        total = sum(s.st_size for s, _ in found)
        for s, path in sorted(found, key=lambda item: item[0].st_mtime_ns):
            if total <= self.limit:
                return
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            total -= s.st_size


class Builds:
    """What the judge knows of packs that build, and their objects."""

    def __init__(self, folder: str | None) -> None:
        self.cache = Cache(Path(folder)) if folder else None
        self.identities: dict[str, str | None] = {}  # by pack, as fresh children say
        self.checks = _digest_of_checks()

    def learn(self, pack: str, ping: dict) -> None:
        """From a child's first answer: it has seen nothing of a candidate yet."""
        self.identities.setdefault(pack, answers.builds(ping))

    def key(self, job: dict) -> str | None:
        """None where nothing is built, or not known to be."""
        identity = self.identities.get(job["pack"])
        if self.cache is None or identity is None:
            return None
        parts = (self.checks, identity, job["pack"], job["device"], job["candidate"])
        joined = b"".join(len(p.encode()).to_bytes(8, "big") + p.encode() for p in parts)
        return hashlib.sha256(joined).hexdigest()

    def build(self, job: dict) -> Generator:
        """In a fresh child, which is asked for nothing else. What it cannot build, the
        candidate's own process will fail to build, too, and tell why."""
        buffer = HostBuffer(MOST)
        message = {"op": "build", "source": job["candidate"], "bytes": MOST}
        try:
            answer = yield Ask(message, job["deadlines"]["load_ms"], [buffer.fd])
            size = 0 if answers.problem(answer) else answers.size(answer, MOST)
            data = bytes(buffer.map[:size])
            yield End()
        except Gone:
            data = b""
        finally:
            buffer.close()
        return data


def _digest_of_checks() -> str:
    """Of the code that decides what may be built."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).resolve().parent.glob("native*.py")):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
