"""The judge's side of a family of languages: a module that has these names (triton_plan,
native_plan, hosted_plan, cuda_plan, tilelang_plan). It reads the part of a trace that is the
family's own, says what a lane has to compile, and turns launches into nodes of a plan. Trace and lane are
hostile; no language is imported."""

from typing import Protocol

from judge.traces import Call, Launch, Trace, View
from shared import plan


class Built(Protocol):
    """A lane's answer, checked."""

    @staticmethod
    def parse(data: bytes, trace: Trace) -> "Built":
        """Raises BadTrace for what is not an answer, Refused for what is not allowed, a Verdict
        for what the lane found wrong."""


class Maker(Protocol):
    """Turns the launches of a trace into nodes of a plan."""

    def __init__(self, trace: Trace, built: Built, at: int) -> None:
        """`at`: where scratch memory begins in the region."""

    def modules(self) -> tuple[plan.Module, ...]: ...

    def functions(self) -> tuple[plan.Function, ...]: ...

    def node(
        self, launch: Launch, part: Call, places: list[int], config: int
    ) -> plan.Node | list[plan.Node]: ...


class Family(Protocol):
    INTERPRETED: bool  # on the CPU its kernels run in an interpreter, and are compiled besides
    Built: type[Built]
    Maker: type[Maker]

    def check(self, trace: Trace) -> None:
        """Raises BadTrace or Refused for launches that may not be."""

    def requests(self, trace: Trace) -> dict:
        """What a lane has to compile."""

    def scratch(self, trace: Trace, built: Built) -> int:
        """Bytes that kernels need besides the trace's buffers."""

    def name(self, trace: Trace, launch: Launch) -> str:
        """The kernel's, for people."""

    def views(self, launch: Launch, call: Call) -> list[View]:
        """The tensors that a launch is given, each once."""
