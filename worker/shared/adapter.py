"""The interface of a pack's adapter.py: a module that has these functions. docs/PACKS.md
("adapter.py") describes the same for authors of packs. An adapter is trusted; whatever it
raises by itself is the machinery's fault, never the candidate's.

A zygote loads the adapter once and calls it in its children. Which of the three interfaces it
needs depends on what its children are for."""

import mmap
from collections.abc import Callable
from typing import Any, Protocol

from shared.translation import Translated


class RuleError(Exception):
    """What an executor itself finds wrong with a call: `rule` is the verdict's. A recorder's
    exceptions are the candidate's, and choose no rule."""

    rule: str


class NotOnThisDevice(RuleError):
    """What an interpreter cannot do, and a GPU can. It says nothing about the candidate. `unknown`:
    the buffers that nobody computed for this reason; all others are as they are on a GPU. None:
    the call ended there."""

    rule = "not-on-this-device"
    unknown: list[int] | None = None


class Mistake(ValueError):
    """What the candidate did wrong, in the harness's words: its own code was not running."""


class Recorder(Protocol):
    """What an adapter's patches call while forward runs (recorder/recorder.py)."""

    def view(self, t: Any) -> list:
        """A tensor as VIEW of docs/TRACE.md."""

    def at(self, address: int) -> tuple[list, int] | None:
        """The memory that an address of a tensor lies in, as VIEW, and the bytes from its start;
        None: it lies in no tensor."""

    def kernel(self, key: Any, spec: dict | Callable[[], dict] | None = None) -> int:
        """The number of a kernel. `key` is what this process knows it by; `spec`, or what it
        returns, describes it in the trace."""

    def text(self, source: str) -> int:
        """The number of a source text."""

    def launch(self, node: dict) -> None:
        """Adds a node of op `launch` or `call`."""

    def refuse(self, rule: str, text: str) -> None:
        """Raises, and ends the recording even where the candidate catches it."""


class Adapter(Protocol):
    """Of every pack that verifies; enough where candidates run beside their data."""

    def prepare(self, mode: str) -> None:
        """Once, in the zygote: imports the language, and loads what a first kernel would.
        `mode` is `record` (recorders and compilers), `interpret` or `direct`."""

    def child(self, mode: str) -> None:
        """In each child, after the box: what cannot be done before the fork."""

    def version(self) -> str:
        """The language's version, for the record."""

    def identity(self) -> str:
        """What compilations depend on besides what is compiled; binaries are kept under it."""

    def folders(self) -> list[str]:
        """Folders that the box must show besides the system's, such as a toolkit."""

    def is_compile_error(self, problem: BaseException) -> bool:
        """Whether an exception means that a kernel does not compile."""


class Recording(Adapter, Protocol):
    """Of a pack with a family: its candidates are recorded, its kernels compiled."""

    def claims(self) -> str:
        """Where fake tensors seem to be: `cuda:0` or `cpu`."""

    def install(self, current: Callable[[], Recorder | None]) -> None:
        """Patches the language's launching. `current()` is the recorder while forward runs."""

    def compile(self, request: dict) -> bytes:
        """In a compiler: the kernels of a trace as binaries, in the family's layout."""


class Translating(Recording, Protocol):
    """Of a pack whose language is its own and is compiled by way of C or CUDA C++."""

    def translate(self, program: str) -> Translated:
        """In a compiler, before `compile`: the program as source for the family's toolchain, and what
        may be launched. Raises a compile error for what is not of the language."""


class Runner(Protocol):
    """What executes the parts of a trace over the region."""

    def run(self, part: int, config: int, mute: bool, order: str | int) -> None:
        """`order` of a grid's programs: forward, reversed, or the seed of a random one, in which
        none sees what others store."""


class Interpreting(Adapter, Protocol):
    """Of a pack whose kernels are interpreted where there is no GPU."""

    def interpreter(self, message: dict, region: mmap.mmap) -> Runner:
        """In an executor: `message` is the judge's `load` (docs/PROTOCOL.md)."""


BY_MODE: dict[str, type] = {"record": Recording, "interpret": Interpreting, "direct": Adapter}
OWN = "own-in-python"  # of pack.json: a language whose translator is the pack's


def missing(adapter: object, mode: str, language: str | None) -> list[str]:
    """The functions that an adapter lacks for that use."""
    needed = Translating if mode == "record" and language == OWN else BY_MODE[mode]
    wanted = [
        name
        for interface in reversed(needed.__mro__)
        if interface.__module__ == __name__
        for name in vars(interface)
        if not name.startswith("_")
    ]
    return [name for name in wanted if not callable(getattr(adapter, name, None))]
