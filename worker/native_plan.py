"""native_plan.py: the judge's side of calls into a library that was built from a
recorded text: what the trace may say, what is to be built, and what the executor is
asked to do. Trace and answers are hostile."""

import json
import math
import re
import struct
from dataclasses import dataclass
from typing import Any

import plan
from trace import BadTrace

MAX_TEXTS = 16
MAX_TEXT_BYTES = 1 << 20
MAX_ARGS = 128
MAX_OBJECT_BYTES = 64 << 20
MAX_HEAD_BYTES = 1 << 20
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


def check(trace: dict) -> None:
    """Raises BadTrace."""
    check_texts(trace)
    if trace["kernels"]:
        raise BadTrace("kernels: a library has functions, not kernels")
    signatures: dict[tuple[int, str], str] = {}
    for node in _calls(trace):
        key, kinds = _signature(node, len(trace["texts"]))
        if signatures.setdefault(key, kinds) != kinds:
            raise BadTrace(f"{key[1]} is called with different kinds of arguments")


def check_texts(trace: dict) -> None:
    texts = trace["texts"]
    if not isinstance(texts, list) or len(texts) > MAX_TEXTS:
        raise BadTrace(f"texts: not a list of at most {MAX_TEXTS}")
    for text in texts:
        if not isinstance(text, str) or len(text) > MAX_TEXT_BYTES or "\0" in text:
            raise BadTrace("texts: not a text")


def _calls(trace: dict) -> list[dict]:
    nodes = [node for call in trace["calls"] for node in call["nodes"]]
    if any(node["op"] == "launch" for node in nodes):
        raise BadTrace("a launch where only calls of a library are known")
    return [node for node in nodes if node["op"] == "call"]


def _signature(node: dict, texts: int) -> tuple[tuple[int, str], str]:
    """Which function, and a letter for each argument."""
    text, name, args = node["text"], node["function"], node["args"]
    if type(text) is not int or not 0 <= text < texts:
        raise BadTrace("call: no such text")
    check_name(name)
    if not isinstance(args, list) or len(args) > MAX_ARGS:
        raise BadTrace(f"{name}: not a list of at most {MAX_ARGS} arguments")
    return (text, name), "".join(_kind(name, arg) for arg in args)


def check_name(name: Any) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise BadTrace("not the name of a function")


def _kind(name: str, arg: Any) -> str:
    if arg is None or (isinstance(arg, dict) and arg.keys() == {"t"}):
        return "p"
    if isinstance(arg, bool):
        return "b"
    if isinstance(arg, int) and -(2**63) <= arg < 2**64:
        return "i"
    if real(arg) is not None:
        return "d"
    raise BadTrace(f"{name}: not an argument that a library can take")


def real(arg: Any) -> float | None:
    """A number of a trace as a float, or None if it is not one."""
    if isinstance(arg, dict) and arg.keys() == {"float"}:
        words = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
        word = arg["float"]
        return words.get(word) if isinstance(word, str) else None
    return arg if isinstance(arg, float) and math.isfinite(arg) else None


def requests(trace: dict) -> list[dict]:
    """A library for each text that is called."""
    found: dict[int, dict[str, str]] = {}
    for node in _calls(trace):
        (text, name), kinds = _signature(node, len(trace["texts"]))
        found.setdefault(text, {})[name] = kinds
    return [
        {
            "text": text,
            "texts": [trace["texts"][text]],
            "launches": [{"name": n, "args": kinds} for n, kinds in names.items()],
        }
        for text, names in found.items()
    ]


@dataclass(frozen=True)
class Built:
    """One library: which functions of the trace it has, and their names in it."""

    keys: tuple[tuple[int, str], ...]
    symbols: tuple[str, ...]
    module: plan.Module

    @classmethod
    def parse(cls, data: bytes, request: dict) -> "Built":
        """The answer to a request. Raises BadTrace."""
        _, data = split(data)
        names = [launch["name"] for launch in request["launches"]]
        keys = tuple((request["text"], name) for name in names)
        symbols = tuple(f"monkeys_call_{name}" for name in names)
        return cls(keys, symbols, plan.Module("library", data))


def split(data: bytes) -> tuple[dict, bytes]:
    """A lane's answer: a line of JSON and an ELF object."""
    line, _, rest = data.partition(b"\n")
    if len(line) > MAX_HEAD_BYTES or len(rest) > MAX_OBJECT_BYTES or rest[:4] != b"\x7fELF":
        raise BadTrace("the answer of a build is not an object")
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        raise BadTrace("the answer of a build has no head") from None
    if not isinstance(head, dict):
        raise BadTrace("the answer of a build has no head")
    return head, rest


def modules(built: list[Any]) -> tuple[tuple[plan.Module, ...], tuple[plan.Function, ...]]:
    """Of a plan; `numbers` counts the functions in the same order."""
    functions = [plan.Function(i, symbol) for i, b in enumerate(built) for symbol in b.symbols]
    return tuple(b.module for b in built), tuple(functions)


def numbers(built: list[Any]) -> dict[Any, int]:
    """The function of a plan that a key of the trace stands for."""
    return {key: i for i, key in enumerate(key for b in built for key in b.keys)}


def nodes(call: dict, places: list[int], built: list[Built], config: Any = None) -> list[plan.Call]:
    """What the calls among a call's nodes become, in their order."""
    known = numbers(built)
    return [
        plan.Call(
            known[node["text"], node["function"]],
            tuple(_word(arg, places) for arg in node["args"]),
        )
        for node in call["nodes"]
        if node["op"] == "call"
    ]


def _word(arg: Any, places: list[int]) -> plan.Param:
    if arg is None:
        return plan.Number(8, 0)
    if isinstance(arg, dict) and "t" in arg:
        return pointer(arg["t"], places)
    if isinstance(arg, int):
        return plan.Number(8, int(arg) & (2**64 - 1))
    return plan.Number(8, struct.unpack("<Q", struct.pack("<d", real(arg)))[0])


def pointer(view: list, places: list[int]) -> plan.Pointer:
    """The address of a view's first element."""
    buffer, dtype, offset = view[:3]
    return plan.Pointer(places[buffer] + offset * plan.ITEM[dtype])
