"""Shared by families with autotuners. A tuned launch has several configurations; each is compiled,
and some may fail to compile."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from judge.traces import BadTrace, Call, Launch, Refused, Trace, listed, whole

CONFIGURATIONS = 64  # of an autotuner
BUILT_BYTES = 64 << 20  # all binaries of a trace together

T = TypeVar("T")
Request = Callable[[Launch, int], dict]  # what a lane is told about a configuration
Key = Callable[[dict], str]


def check_launches(trace: Trace, check: Callable[[dict, Call, int], None]) -> None:
    """Checks every launch in every configuration, and the kernels that they name."""
    for call in trace.calls:
        for launch in call.launches():
            if launch.op != "launch":
                raise BadTrace("a call of a function in a language of kernels")
            if len(launch.tuned) > CONFIGURATIONS:
                raise BadTrace("too many configurations")
            for told in (launch.told, *launch.tuned):
                check(told, call, len(trace.kernels))
            whole(launch.told.get("kernel"), 0, len(trace.kernels) - 1, "a kernel's number")


def distinct(trace: Trace, request: Request, key: Key) -> list[tuple[dict, str]]:
    """What to compile, each with its key. `tuned`: it may fail to compile."""
    found: dict[str, dict] = {}
    for call in trace.calls:
        for launch in call.launches():
            for config in range(launch.configurations()):
                told = request(launch, config)
                name = key(told)
                told["tuned"] = bool(launch.tuned) and found.get(name, told).get("tuned", True)
                found[name] = told
    return [(told, name) for name, told in found.items()]


def chosen(
    built: dict[str, T], launch: Launch, config: int, request: Request, key: Key
) -> tuple[int, T] | None:
    """A configuration and what was built for it. If this one is missing or did not compile, the
    first that did; None if none did."""
    count = launch.configurations()
    for candidate in (min(config, count - 1), *range(count)):
        found = built.get(key(request(launch, candidate)))
        if found is not None:
            return candidate, found
    return None


def pieces(told: list, data: bytes, most: int, what: str) -> Iterator[tuple[dict, bytes]]:
    """Each entry of `told`, which has its size in `bytes`, with its part of the data."""
    if len(data) > BUILT_BYTES:
        raise Refused("cubin", "the compiled kernels are too large")
    at = 0
    for one in listed(told, 20_000, what):
        size = whole(one["bytes"], 1, most, f"a size of {what}")
        yield one, data[at : at + size]
        at += size
    if at != len(data):
        raise BadTrace(f"{what} of another size")


def kernel_name(trace: Trace, launch: Launch) -> str:
    return trace.kernels[launch.told["kernel"]]["name"]
