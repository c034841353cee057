"""Decides which jobs run at once: as many as memory allows, in order of arrival.

A job counts for the memory that its task has been seen to use. For a new task it counts for its own
limit, or for a share of the total, so that new tasks fill all slots. The figures come from the
kernel; the worker reports them when a candidate's processes have ended. One job always runs,
however much it uses, so none waits forever; a waiting job holds nothing. On CUDA one job at a time
has the device, and only the number of jobs counts."""

import hashlib


class Room:
    def __init__(self, total: int, limit: int, children: int) -> None:
        self.total = total  # bytes for all; 0: nobody knows, the number of jobs decides
        self.limit = limit  # bytes that a child may take; 0: no limit
        self.share = total // children
        self.learnt: dict[str, int] = {}  # peaks by what is judged
        self.taken: dict[str, int] = {}  # by the job's id

    def enter(self, name: str, job: dict) -> bool:
        """False: not now. A job that entered must leave()."""
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
        peak = self.learnt.get(_room_key(job), 0)
        if not peak:
            return own or self.share
        return min(peak + peak // 4, own or self.limit or self.total)

    def learn(self, job: dict, peak: int, called: bool) -> None:
        """The peak of a job that was never called can only raise the estimate. An unusually high
        peak is gradually forgotten."""
        key = _room_key(job)
        before = self.learnt.get(key, 0)
        if called:
            self.learnt[key] = max(peak, before - before // 8)
        elif before:
            self.learnt[key] = max(peak, before)


def _room_key(job: dict) -> str:
    parts = (job["pack"], job["precision"], job["task"]["source"])
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
