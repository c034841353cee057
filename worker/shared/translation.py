"""translation.py: packs whose language is their own and reaches a machine by way of C or CUDA C++
(`"language": "own-in-python"` in pack.json).

Translation is the compiler's work. A recorder runs the candidate's Python: what translates there is the
candidate's to replace, and what it hands on may be any C. So a trace holds programs of the
language, and what is compiled comes from `translate` of the pack's adapter, in a process that has
run nothing of the candidate's.

Arguments are checked here, too. Generated code trusts the sizes that a program's head promises; in
a library a wrong one would reach the memory of the whole process, code included."""

from collections.abc import Callable
from dataclasses import dataclass

from shared.native import BuildError

INT, FLOAT = "int", "float"  # parameters that are single numbers


@dataclass(frozen=True)
class Memory:
    """A parameter that is a dense tensor of exactly this dtype and these sizes: numbers, or names
    of INT parameters."""

    dtype: str
    sizes: tuple[int | str, ...]


Head = dict[str, Memory | str]  # what a function takes, by name, in order


@dataclass(frozen=True)
class Translated:
    source: str  # for the family's compiler
    heads: dict[str, Head]  # of the functions that may be launched


def translated(request: dict, translate: Callable[[str], Translated]) -> dict:
    """A compiler's request with source in place of programs."""
    texts = list(request["texts"])
    found: dict[int, Translated] = {}
    for launch in request["launches"]:
        called = launch if "text" in launch else request["kernels"][launch["kernel"]]
        text, name = called["text"], called["function" if "text" in launch else "name"]
        if text not in found:
            found[text] = translate(texts[text])
            texts[text] = found[text].source
        if name not in found[text].heads:
            raise BuildError(f"the program has no {name!r}")
        if "text" in launch:
            _check(name, found[text].heads[name], launch["args"])
    return request | {"texts": texts}


def _check(name: str, head: Head, args: list) -> None:
    """`args` of a function that is called: judge/launches.py has the form of a tensor."""
    given = dict(zip(head, args))
    if len(args) != len(head):
        raise BuildError(f"{name}() takes {len(head)} arguments, got {len(args)}")
    for parameter, wanted in head.items():
        if not _fits(wanted, given[parameter], given):
            raise BuildError(f"{name}(): {parameter!r} is not what the program's head says")


def _fits(wanted: Memory | str, arg: object, given: dict) -> bool:
    if isinstance(wanted, Memory):
        sizes = [given[size] if isinstance(size, str) else size for size in wanted.sizes]
        tensor = arg.get("t") if isinstance(arg, dict) else None
        return bool(tensor) and tensor[1:3] == [wanted.dtype, sizes] and tensor[4]
    is_float = isinstance(arg, float) or isinstance(arg, dict) and "float" in arg
    return type(arg) is int if wanted == INT else is_float
