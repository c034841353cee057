"""Time of calls: medians, and the fifths around them. On a GPU by its own events, with the L2 cache
flushed before every call; on the CPU by the processor's clock."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

FLUSH_BYTES = 256 << 20
LEAST = 10  # samples, however long a call takes
ROUNDS = 5  # in which the implementations take turns
GRAPH_MS = 200.0  # calls that take longer are not captured


@dataclass
class Samples:
    ms: list[float] = field(default_factory=list)

    def at(self, share: float) -> float:
        """A quantile, between the samples next to it."""
        ordered = sorted(self.ms)
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    @property
    def median(self) -> float:
        return statistics.median(self.ms)


class Clock:
    def __init__(self, device: str, warm_ms: float, measure_ms: float) -> None:
        self.cuda = device != "cpu"
        self.warm_ms, self.measure_ms = warm_ms, measure_ms
        self.scratch = (
            torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=device) if self.cuda else None
        )

    def once(self, call: Callable) -> float:
        if not self.cuda:
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * 1e3
        self.scratch.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def warm(self, call: Callable) -> float:
        """Calls it until it is warm. Returns how long a call takes, roughly."""
        took, spent = [self.once(call) for _ in range(3)][1:], 0.0
        while spent < self.warm_ms:
            took.append(self.once(call))
            spent += took[-1]
        return statistics.median(took)

    def compare(self, calls: dict[object, Callable]) -> dict[object, Samples]:
        """All of them, taking turns."""
        found = {key: Samples() for key in calls}
        share = {}
        for key, call in calls.items():
            expected = max(self.warm(call), 1e-3)
            share[key] = max(-(-LEAST // ROUNDS), int(self.measure_ms / expected / ROUNDS))
        for _ in range(ROUNDS):
            for key, call in calls.items():
                found[key].ms += [self.once(call) for _ in range(share[key])]
        return found


def graph_of(call: Callable) -> tuple[Callable, object]:
    """The call as a CUDA graph: what replays it, and where its output lies."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = call()
    return graph.replay, out
