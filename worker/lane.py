"""Which jobs run beside each other: as many as memory allows, in the order they came.

A job counts as much as its task has been seen to take. Where nobody has seen that yet it
counts its own limit, or without one a share: so tasks that are new fill all places. The
figures are of the resource that is short: on the CPU what the kernel counted for the
candidate's processes (the worker tells, when they are gone), on CUDA what candidate and
judge had of the device's memory. One job always runs, whatever it takes, so nobody waits
for ever; a job that waits holds nothing."""

import hashlib

import torch

CONTEXT = 640 << 20  # bytes of the device that a process takes before its first tensor


class Lane:
    def __init__(self, total: int, limit: int, children: int) -> None:
        self.total = total  # bytes for all; 0: nobody knows, the number of jobs decides
        self.limit = limit  # bytes that a child may take; 0: no limit
        self.share = total // children
        self.learnt: dict[str, int] = {}  # peaks by what is judged
        self.taken: dict[str, int] = {}  # by the job's id

    def enter(self, name: str, job: dict) -> bool:
        """False: not now. Whoever is let in has to leave()."""
        need = self.need(job)
        if self.total and self.taken and sum(self.taken.values()) + need > self.total:
            return False
        self.taken[name] = need
        return True

    def leave(self, name: str) -> None:
        self.taken.pop(name, None)

    def need(self, job: dict) -> int:
        if job["kind"] != "verify":
            return 0  # the judge's own work, one at a time
        own = job["limits"]["memory_bytes"]
        peak = self.learnt.get(_key(job), 0)
        if not peak:
            return own or self.share
        return min(peak + peak // 4, own or self.limit or self.total)

    def learn(self, job: dict, peak: int, called: bool) -> None:
        """One that was never called tells only that it may be more. One that took
        more than others do is forgotten by and by."""
        key = _key(job)
        before = self.learnt.get(key, 0)
        if called:
            self.learnt[key] = max(peak, before - before // 8)
        elif before:
            self.learnt[key] = max(peak, before)


def _key(job: dict) -> str:
    parts = (job["pack"], job["precision"], job["task"]["source"])
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def device_total() -> int:
    """Three quarters of what is free on the device; 0 where it does not say."""
    try:
        return torch.cuda.mem_get_info(0)[0] // 4 * 3
    except (RuntimeError, AssertionError):
        return 0


class Meter:
    """What the judge itself takes of the device for one job. The allocator counts for
    the process as a whole, but only one job's step runs at a time."""

    def __init__(self, device: str) -> None:
        self.on = device != "cpu"
        self.held = self.most = self.before = 0

    def __enter__(self) -> None:
        if self.on:
            torch.cuda.reset_peak_memory_stats()
            self.before, _ = _allocated()

    def __exit__(self, *_: object) -> None:
        if self.on:
            after, top = _allocated()
            self.most = max(self.most, self.held + top - self.before)
            self.held += after - self.before


def _allocated() -> tuple[int, int]:
    """Bytes that this process has of the device now, and had at most."""
    told = torch.cuda.memory_stats_as_nested_dict(0)["allocated_bytes"]["all"]
    return told["current"], told["peak"]
