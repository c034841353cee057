"""Decides how many repetitions to measure, summarises them, and times references."""

import math
import statistics
from time import perf_counter_ns

import torch

WARM_MS = 25.0
MEASURE_MS = 100.0
MIN_REPS, MAX_REPS = 5, 30
FLUSH_BYTES = 256 << 20
# Times that the cache is flushed: the device is at it while the host comes to the launch,
# which takes a process that has just woken up 0.1 ms and more.
FLUSHES = 4


class Stopwatch:
    """Measures one repetition at a time on a device."""

    def __init__(self, device: str) -> None:
        self.cuda = device != "cpu"
        if self.cuda:
            self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=device)
            self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def run(self, call) -> tuple[float, object]:
        """Returns the milliseconds that call() took, and its result."""
        if not self.cuda:
            start = perf_counter_ns()
            result = call()
            return (perf_counter_ns() - start) / 1e6, result
        for _ in range(FLUSHES):
            self.flush.zero_()
        self.events[0].record()
        result = call()
        self.events[1].record()
        torch.cuda.synchronize()
        return self.events[0].elapsed_time(self.events[1]), result


def summary(samples: list[float]) -> dict:
    ordered = sorted(samples)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return {
        "median": statistics.median(ordered),
        "p20": at(0.2),
        "p80": at(0.8),
        "n": len(ordered),
    }


def enough(samples: list[float]) -> bool:
    return len(samples) >= MAX_REPS or (
        len(samples) >= MIN_REPS and sum(samples) >= MEASURE_MS
    )


def expected(first_ms: float) -> int:
    """How many repetitions will be enough, by the first."""
    return min(MAX_REPS, max(MIN_REPS, math.ceil(MEASURE_MS / max(first_ms, 1e-9))))
