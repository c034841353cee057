"""The judge's side of a family of languages: a module with these names (triton_plan, native_plan,
hosted_plan, cuda_plan, tilelang_plan). It reads the family's own part of a trace, says what a lane
has to compile, and turns launches into nodes of a plan. Trace and lane are hostile; no language is
imported."""

from typing import Protocol

from judge.traces import Call, Launch, Trace, View
from shared import plan


class Built(Protocol):
    """A lane's answer, checked."""

    @staticmethod
    def parse(data: bytes, trace: Trace) -> "Built":
        """Raises BadTrace for an invalid answer, Refused for something that is not allowed, and a
        Verdict for an error that the lane found."""


class Maker(Protocol):
    """Turns the launches of a trace into nodes of a plan."""

    def __init__(self, trace: Trace, built: Built, at: int) -> None:
        """`at` is where scratch memory starts in the region."""

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
        """Raises BadTrace or Refused for launches that are not allowed."""

    def requests(self, trace: Trace) -> dict:
        """What a lane has to compile."""

    def scratch(self, trace: Trace, built: Built) -> int:
        """Bytes that kernels need besides the trace's buffers."""

    def name(self, trace: Trace, launch: Launch) -> str:
        """The kernel's name, for messages."""

    def views(self, launch: Launch, call: Call) -> list[View]:
        """The tensors passed to a launch, without duplicates."""
