"""The compiler's side: compiles the kernels of a trace, boxed, without data and without the
candidate's host code, and says what each launch becomes. What it is asked and what it answers,
judge/launches.py says; here answers are written. A launch is hostile, too: its form was checked,
what a language makes of it was not."""

import json
from collections.abc import Callable, Iterable


class Malformed(Exception):
    """A launch that no recorder of the language tells."""


class Answer:
    def __init__(self) -> None:
        self.modules: list[dict] = []
        self.functions: list[dict] = []
        self.launches: list[dict] = []
        self.binaries: list[bytes] = []

    def module(self, kind: str, data: bytes, symbols: Iterable[str], **more: object) -> int:
        """Adds a binary; the number of its first function. `more` describes it."""
        first = len(self.functions)
        self.functions += [{"module": len(self.modules), "name": symbol} for symbol in symbols]
        self.modules.append({"kind": kind, "bytes": len(data)} | more)
        self.binaries.append(data)
        return first

    def launch(
        self, request: dict, nodes: Callable[[dict], list[dict]], failed: type[Exception], *more: type
    ) -> None:
        """Adds all launches. An error is an answer where an autotuner may do without the configuration;
        else it ends the compilation."""
        for launch in request["launches"]:
            try:
                self.launches.append({"nodes": nodes(launch)})
            except (failed, *more) as problem:
                if not launch["tuned"]:
                    raise
                self.launches.append({"error": str(problem)[:4000]})
        for group in request["groups"]:
            if all("error" in self.launches[i] for i in group):
                raise failed(self.launches[group[0]]["error"])


def answer_of(fill: Callable[[Answer], None]) -> bytes:
    """A line of JSON, then binaries, one after the other."""
    made = Answer()
    try:
        fill(made)
    except Malformed as problem:
        return json.dumps({"malformed": str(problem)[:1000]}).encode() + b"\n"
    head = {"modules": made.modules, "functions": made.functions, "launches": made.launches}
    return json.dumps(head).encode() + b"\n" + b"".join(made.binaries)


def node(
    function: int, params: list[list], grid: list[int], block: list[int], shared: int,
    cluster: Iterable[int] = (1, 1, 1), cooperative: bool = False, pdl: bool = False, scratch: int = 0,
) -> dict:  # fmt: skip
    """A launch of a kernel."""
    return {"function": function, "params": params, "grid": grid, "block": block, "shared": shared,
            "cluster": list(cluster), "cooperative": cooperative, "pdl": pdl, "scratch": scratch}  # fmt: skip


def as_number(data: bytes) -> list:
    """A number as a parameter."""
    return ["n", len(data), int.from_bytes(data, "little")]


NULL = ["n", 8, 0]


def value(arg: object) -> bool | int | float:
    """A number of a trace."""
    if isinstance(arg, dict) and "float" in arg:
        return float(arg["float"])
    if not isinstance(arg, (bool, int, float)):
        raise Malformed("an argument that is not a number")
    return arg
