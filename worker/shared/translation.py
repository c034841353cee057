"""translation.py: packs whose language is their own and reaches a machine by way of C or CUDA C++
(`"language": "own-in-python"` in pack.json).

Translation is a lane's work. A recorder runs the candidate's Python: what translates there is the
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
    """A lane's request with source in place of programs."""
    texts = list(request["texts"])
    for told in request["objects"]:
        made = translate(request["texts"][told["text"]])
        for name, _ in told.get("launches") or told["functions"]:
            if name not in made.heads:
                raise BuildError(f"the program has no {name!r}")
        for name, args in told.get("calls", []):
            _check(name, made.heads[name], args)
        texts[told["text"]] = made.source
    return request | {"texts": texts}


def _check(name: str, head: Head, args: list) -> None:
    """`args` as native_plan.requests() has them."""
    given = dict(zip(head, args))
    if len(args) != len(head):
        raise BuildError(f"{name}() takes {len(head)} arguments, got {len(args)}")
    for parameter, wanted in head.items():
        if not _fits(wanted, given[parameter], given):
            raise BuildError(f"{name}(): {parameter!r} is not what the program's head says")


def _fits(wanted: Memory | str, arg: object, given: dict) -> bool:
    if isinstance(wanted, Memory):
        sizes = [given[size] if isinstance(size, str) else size for size in wanted.sizes]
        return arg == [wanted.dtype, sizes]
    return type(arg) is int if wanted == INT else arg == FLOAT
