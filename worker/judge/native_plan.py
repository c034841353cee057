"""The judge's side of calls into libraries built from recorded texts: what a trace may contain,
what to build, and the plan for an executor. Trace and lane are hostile."""

import json
import re
import struct
from dataclasses import dataclass

from judge import shared_object
from judge.judging import Verdict
from judge.traces import BadTrace, Call, Launch, Trace, View, headed, listed, number, text, view
from judge.traces import whole
from shared import plan
from shared.plan import ITEM

INTERPRETED = False  # family.py
ARGUMENTS = 128  # of a function
BUILT_BYTES = 64 << 20  # all objects together
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
WORD = (1 << 64) - 1


# ---- what a trace may say ------------------------------------------------------------


def check(trace: Trace) -> None:
    check_texts(trace)
    if trace.kernels:
        raise BadTrace("kernels in a trace of library calls")
    kinds: dict[tuple[int, str], str] = {}
    for call in trace.calls:
        for launch in call.launches():
            key, given = _read(launch, call, len(trace.texts))
            if kinds.setdefault(key, given) != given:
                raise BadTrace("a function that takes different kinds of arguments")


def check_texts(trace: Trace) -> None:
    """The texts reach a compiler through files, so they must be writable to one."""
    for source in trace.texts:
        try:
            source.encode()
        except UnicodeEncodeError:
            raise BadTrace("a text that is not valid Unicode") from None


def _read(launch: Launch, call: Call, texts: int) -> tuple[tuple[int, str], str]:
    """The called function, and a letter for each argument."""
    if launch.op != "call" or launch.tuned:
        raise BadTrace("a launch in a trace of library calls")
    told = launch.told
    key = whole(told.get("text"), 0, texts - 1, "a text"), plain_name(told.get("function"))
    args = listed(told.get("args"), ARGUMENTS, "the arguments")
    return key, "".join(_kind(arg, call) for arg in args)


def plain_name(value: object) -> str:
    name = text(value, 200, "a function's name")
    if not NAME.fullmatch(name):
        raise BadTrace("a malformed function name")
    return name


def _kind(arg: object, call: Call) -> str:
    """The letter for a stub's argument: p, i, b or d."""
    if is_address(arg, call):
        return "p"
    value = number(arg, "an argument")
    return "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "d"


def is_address(arg: object, call: Call) -> bool:
    if isinstance(arg, dict) and arg.keys() == {"t"}:
        view(arg["t"], call.buffers)
        return True
    return arg is None


# ---- what has to be built ------------------------------------------------------------


def requests(trace: Trace) -> dict:
    """One library for each text that is called, with a stub for each function, and the distinct
    calls: a translator's lane compares them with the program's heads."""
    found: dict[int, tuple[dict[str, str], dict[str, list]]] = {}
    for call in trace.calls:
        for launch in call.launches():
            (source, function), kinds = _read(launch, call, len(trace.texts))
            functions, calls = found.setdefault(source, ({}, {}))
            functions[function] = kinds
            shown = [function, [_shown(arg, call) for arg in launch.told["args"]]]
            calls.setdefault(json.dumps(shown), shown)
    return {
        "objects": [
            {"text": source, "launches": [[name, kinds] for name, kinds in functions.items()],
             "calls": list(calls.values())}
            for source, (functions, calls) in found.items()
        ]
    }  # fmt: skip


def _shown(arg: object, call: Call) -> object:
    """Of dense memory the dtype and the sizes; integers as they are. Floats are only named, since
    they do not change what is compiled."""
    if isinstance(arg, dict) and "t" in arg:
        v = view(arg["t"], call.buffers)
        return [v.dtype, list(v.shape)] if v.is_dense() else None
    return "float" if arg is not None and isinstance(number(arg), float) else arg


def split(data: bytes, count: int) -> tuple[dict, list[bytes]]:
    """Splits a lane's answer: a line of JSON with the sizes of the objects, then the objects."""
    if len(data) > BUILT_BYTES:
        raise BadTrace("the compiler's answer is too long")
    head, rest = headed(data)
    try:
        sizes = listed(head["sizes"], count, "objects")
    except (KeyError, TypeError):
        raise BadTrace("the compiler's answer cannot be read") from None
    objects, at = [], 0
    for size in sizes:
        objects.append(rest[at : at + whole(size, 4, BUILT_BYTES, "an object's size")])
        at += size
    if len(objects) != count or at != len(rest):
        raise BadTrace("objects of the compiler are missing")
    if any(not data.startswith(b"\x7fELF") for data in objects):
        raise BadTrace("an object of the compiler is not ELF")
    return head, objects


@dataclass(frozen=True)
class Built:
    """A lane's answer: each object, and its functions by their names in the trace."""

    objects: tuple[bytes, ...]
    functions: tuple[tuple[int, tuple[int, str]], ...]  # object, text and name

    @staticmethod
    def parse(data: bytes, trace: Trace) -> "Built":
        asked = requests(trace)["objects"]
        _, objects = split(data, len(asked))
        for made in objects:
            _check_object(made)
        functions = [
            (i, (told["text"], name))
            for i, told in enumerate(asked)
            for name, _ in told["launches"]
        ]
        return Built(tuple(objects), tuple(functions))


def _check_object(data: bytes) -> None:
    try:
        shared_object.check(data)
    except shared_object.NotPure as problem:
        raise Verdict("compile_error", "compile", str(problem), message=str(problem)) from None
    except shared_object.BadLibrary as problem:
        raise BadTrace(f"the compiler's library is malformed: {problem}") from None


# ---- what is executed ----------------------------------------------------------------


def scratch(trace: Trace, built: object) -> int:
    """These kernels need no scratch memory."""
    return 0


class Maker:
    """Turns the calls of a trace into nodes of a plan."""

    def __init__(self, trace: Trace, built: Built, at: int) -> None:
        self.built = built
        self.index = {key: i for i, (_, key) in enumerate(built.functions)}

    def modules(self) -> tuple[plan.Module, ...]:
        return tuple(plan.Module("library", data) for data in self.built.objects)

    def functions(self) -> tuple[plan.Function, ...]:
        return tuple(
            plan.Function(i, f"monkeys_call_{name}") for i, (_, name) in self.built.functions
        )

    def node(self, launch: Launch, part: Call, places: list[int], config: int) -> plan.Call:
        told = launch.told
        function = self.index[told["text"], told["function"]]
        return plan.Call(function, tuple(_word(arg, places) for arg in told["args"]))


def _word(arg: object, places: list[int]) -> plan.Param:
    if arg is None or isinstance(arg, dict) and "t" in arg:
        return address(arg, places)
    return plan.Number(8, number_word(arg))


def number_word(arg: object) -> int:
    """An integer, or the bits of a double."""
    value = number(arg)
    if isinstance(value, int):
        return int(value) & WORD
    return int.from_bytes(struct.pack("<d", value), "little")


def address(arg: dict | None, places: list[int]) -> plan.Param:
    if arg is None:
        return plan.Number(8, 0)
    buffer, dtype, offset, *_ = arg["t"]
    return plan.Pointer(places[buffer] + offset * ITEM[dtype])


# ---- what a reader is told -----------------------------------------------------------


def name(trace: Trace, launch: Launch) -> str:
    return launch.told["function"]


def views(launch: Launch, call: Call) -> list[View]:
    """The tensors passed to a launch or call, without duplicates."""
    args = launch.told["args"]
    args = args.values() if isinstance(args, dict) else args
    given = [arg["t"] for arg in args if isinstance(arg, dict) and "t" in arg]
    return list(dict.fromkeys(view(told, call.buffers) for told in given))
