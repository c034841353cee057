"""Compiled objects that outlive a candidate, and what is known to compile; in the judge.

A pack whose helper compiles C-like text can do that before the candidate runs, in a
boxed process that reads the candidate's file but never runs it (native_adapter.py).
What comes back is stored under the hash of what went in: the candidate's text and
everything else that a build depends on. So whatever a hostile source does to a
compiler, it does to itself alone, and nothing that a running candidate knows, such as
its inputs, can be left for its next verification.

The same holds for kernels that an interpreter ran and that must also compile for a GPU.
Known is that a text's launches do; the process that said so had that text and no other, and
nothing is kept of those that fail."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import answers
from buffers import HostBuffer
from steps import Ask, End, Gone

LIMIT = 1 << 30  # bytes of the folder
MOST = 64 << 20  # bytes of one candidate's objects
COMPILES = b"compiles\n"


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
        self.compilers: dict[str, str | None] = {}  # likewise
        self.checks = _digest_of_checks()

    def learn(self, pack: str, ping: dict) -> None:
        """From a child's first answer: it has seen nothing of a candidate yet."""
        self.identities.setdefault(pack, answers.builds(ping))
        self.compilers.setdefault(pack, answers.compiler(ping))

    def key(self, job: dict) -> str | None:
        """None where nothing is built, or not known to be."""
        identity = self.identities.get(job["pack"])
        if self.cache is None or identity is None:
            return None
        return _hash(self.checks, identity, job["pack"], job["device"], job["candidate"])

    def compile_key(self, pack: str, text: str, launches: list[dict], target: str) -> str | None:
        """Of launches of the kernels in `text`; None where nothing is kept."""
        compiler = self.compilers.get(pack)
        if self.cache is None or compiler is None:
            return None
        told = json.dumps(launches, sort_keys=True)
        return _hash("compiles", compiler, pack, target, text, told)

    def compiles(self, key: str | None) -> bool:
        return key is not None and self.cache.get(key) == COMPILES

    def note_compiles(self, key: str | None) -> None:
        if key is not None:
            self.cache.put(key, COMPILES)

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


def _hash(*parts: str) -> str:
    raw = [part.encode(errors="surrogatepass") for part in parts]
    return hashlib.sha256(b"".join(len(p).to_bytes(8, "big") + p for p in raw)).hexdigest()


def _digest_of_checks() -> str:
    """Of the code that decides what may be built."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).resolve().parent.glob("native*.py")):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
