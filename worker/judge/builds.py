"""Compiled binaries that are kept between candidates; in the judge.

Kernels are compiled in a boxed process that has no data and runs none of the candidate's host
code. Its answer is kept under the hash of all its inputs: the candidate's text, the request, the
toolchain. So a hostile source that subverts a compiler only affects itself."""

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

LIMIT = 1 << 30  # bytes of the folder


class Cache:
    """Files named by key; the least recently used is removed first."""

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
        """Writes atomically, because several judges may share a folder. Keeps nothing if the folder
        is full or not writable."""
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
    """Answers of compilers, and what they depend on."""

    def __init__(self, folder: str | None) -> None:
        self.cache = Cache(Path(folder)) if folder else None
        self.identities: dict[str, str] = {}  # of compilers, by pack

    def learn(self, pack: str, identity: str) -> None:
        """Stores the identity from a child's first answer, sent before it has seen a candidate."""
        self.identities.setdefault(pack, identity)

    def key(self, pack: str, request: dict) -> str | None:
        """None when answers are not kept."""
        identity = self.identities.get(pack)
        if self.cache is None or not identity:
            return None
        parts = [identity, pack, json.dumps(request, sort_keys=True)]
        raw = [part.encode(errors="surrogatepass") for part in parts]
        return hashlib.sha256(b"".join(len(p).to_bytes(8, "big") + p for p in raw)).hexdigest()

    def get(self, key: str | None) -> bytes | None:
        return self.cache.get(key) if key is not None else None

    def put(self, key: str | None, data: bytes) -> None:
        if key is not None:
            self.cache.put(key, data)
