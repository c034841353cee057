"""The judge's side of the Triton family: what to compile for the launches of a trace, and the plan
for an executor. Trace and lane are hostile; neither the language nor the candidate is imported
here. triton_trace.py checks what a trace may contain."""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from judge import cubin, tuning
from judge.traces import BadTrace, Call, Launch, Refused, Trace, View, listed, number, text, view
from judge.traces import headed, whole
from judge.triton_trace import PARAMETERS, check  # noqa: F401 - check is of the interface
from shared import plan
from shared.kernel_language import is_plain
from shared.plan import ITEM

INTERPRETED = True  # family.py
SCRATCH_BYTES = 4 << 30
_INTEGERS = {"i1": 8, "u1": 8, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32,
             "i64": 64, "u64": 64}  # bits that are passed  # fmt: skip
_FLOATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}
_MAP_TYPES = {8: 10, 9: 8, 10: 9}  # the compiler's number of a type -> the driver's
_TF32 = 11


# ---- what has to be compiled ---------------------------------------------------------


def requests(trace: Trace) -> dict:
    """The distinct launches, as sent to a lane: for tensors, only what a kernel depends on.
    `groups` are the configurations of one autotuner: at least one must compile."""
    asked = tuning.distinct(trace, _request, _key)
    order = {key: i for i, (_, key) in enumerate(asked)}
    groups = {
        tuple(order[_key(_request(launch, config))] for config in range(launch.configurations()))
        for call in trace.calls for launch in call.launches()
    }  # fmt: skip
    return {"launches": [told for told, _ in asked], "groups": sorted(map(list, groups))}


def _request(launch: Launch, config: int) -> dict:
    told = launch.at(config)
    args = {name: _reduced(arg) for name, arg in told["args"].items()}
    return {"kernel": launch.told["kernel"], "args": args, "options": told["options"]}


def _key(told: dict) -> str:
    return json.dumps([told["kernel"], told["args"], told["options"]])


def _reduced(arg: object) -> object:
    if not isinstance(arg, dict):
        return arg
    ((kind, content),) = arg.items()
    if kind == "t":
        return {"t": _aligned(content)}
    if kind == "reinterpret":
        return {"reinterpret": [_aligned(content[0]), content[1]]}
    if kind == "desc":
        return {"desc": [_aligned(content[0]), *content[1:]]}
    if kind == "tuple":
        return {"tuple": [_reduced(part) for part in content]}
    return arg


def _aligned(told: list) -> list:
    """Buffers start at multiples of 256."""
    return [told[1], told[2] * ITEM[told[1]] % 16]


# ---- what was compiled ---------------------------------------------------------------


@dataclass(frozen=True)
class Binary:
    name: str
    data: bytes
    warps: int
    ctas: int
    shared: int
    scratch: tuple[int, int]  # bytes for each program, alignment
    profile: tuple[int, int]
    cooperative: bool
    pdl: bool
    params: tuple[tuple[tuple, str], ...]
    maps: tuple[dict, ...]


@dataclass(frozen=True)
class Built:
    """A lane's answer: `launches` maps the key of a request to numbers of binaries; configurations
    of an autotuner that failed are missing."""

    binaries: tuple[Binary, ...]
    launches: dict[str, int]
    failures: tuple[str, ...]

    @staticmethod
    def parse(data: bytes, trace: Trace) -> "Built":
        try:
            told, cubins = headed(data)
            binaries = _read_binaries(told["binaries"], cubins)
            answers = told["launches"]
        except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as problem:
            raise BadTrace(f"the compiler's answer cannot be read: {problem}") from None
        except cubin.BadCubin as problem:
            raise Refused("cubin", f"a compiled kernel is not one: {problem}") from None
        asked = tuning.distinct(trace, _request, _key)
        if len(listed(answers, len(asked), "answers")) != len(asked):
            raise BadTrace("answers of the compiler are missing")
        return _matched(binaries, asked, answers)


def configuration(built: Built, launch: Launch, config: int) -> int:
    """The number of the configuration that runs where this one is asked for."""
    found = tuning.chosen(built.launches, launch, config, _request, _key)
    return found[0] if found else 0


def _matched(binaries: tuple[Binary, ...], asked: list, answers: list) -> Built:
    launches, failures = {}, []
    for (told, key), answer in zip(asked, answers):
        if not isinstance(answer, dict) or len(answer) != 1:
            raise BadTrace("an answer of the compiler")
        if "error" in answer and told["tuned"]:
            failures.append(text(answer["error"], 10_000, "an error"))
        else:
            launches[key] = whole(answer.get("binary"), 0, len(binaries) - 1, "a binary's number")
    return Built(binaries, launches, tuple(failures))


def _read_binaries(told: object, cubins: bytes) -> tuple[Binary, ...]:
    found = []
    for one, data in tuning.pieces(told, cubins, cubin.MOST_BYTES, "cubins"):
        if not is_plain(one["name"]):
            raise BadTrace("an entry's name")
        cubin.check(data, [one["name"]])
        found.append(_read_binary(one, data))
    return tuple(found)


def _read_binary(one: dict, data: bytes) -> Binary:
    warps, ctas = whole(one["warps"], 1, 64, "warps"), whole(one["ctas"], 1, 16, "ctas")
    if one["cooperative"] not in (True, False) or one["pdl"] not in (True, False):
        raise BadTrace("a flag of a kernel")
    return Binary(
        one["name"], data, warps, ctas, whole(one["shared"], 0, 256 << 10, "shared memory"),
        _read_scratch(one["scratch"]), _read_scratch(one["profile"]), one["cooperative"],
        one["pdl"], tuple(_read_param(p) for p in listed(one["params"], PARAMETERS, "params")),
        tuple(_read_map(m) for m in listed(one["maps"], 64, "maps")),
    )  # fmt: skip


def _read_scratch(told: object) -> tuple[int, int]:
    size, alignment = listed(told, 2, "scratch memory")
    return whole(size, 0, 1 << 30, "scratch memory"), whole(alignment, 1, 256, "an alignment")


def _read_param(told: object) -> tuple[tuple, str]:
    path, kind = listed(told, 2, "a parameter")
    for part in listed(path, 20, "a parameter's path"):
        if not is_plain(part):
            whole(part, 0, PARAMETERS, "a place in a tuple")
    if not isinstance(kind, str) or kind not in {"*", "map", "bf16", *_INTEGERS, *_FLOATS}:
        raise BadTrace(f"a parameter of the type {str(kind)[:40]}")
    return tuple(path), kind


def _read_map(told: object) -> dict:
    block = tuple(whole(n, 1, 256, "a box") for n in listed(told["block"], 5, "a box"))
    return {
        "swizzle": whole(told["swizzle"], 0, 3, "a swizzle"),
        "item": whole(told["item"], 1, 8, "an element's size"),
        "type": whole(told["type"], 0, 15, "an element's type"),
        "block": block,
        "fp4": bool(told["fp4"]),
    }


# ---- what is executed ----------------------------------------------------------------


def scratch(trace: Trace, built: Built) -> int:
    """Bytes for the launch that needs the most: launches run one after the other."""
    most = 0
    for call in trace.calls:
        for launch in call.launches():
            for config in range(launch.configurations()):
                number_of = built.launches.get(_key(_request(launch, config)))
                if number_of is not None:
                    grid = launch.at(config)["grid"]
                    most = max(most, sum(_needs(built.binaries[number_of], grid)))
    if most > SCRATCH_BYTES:
        raise Refused("scratch", f"kernels need {most} bytes of scratch memory")
    return most


def _needs(binary: Binary, grid: list[int]) -> tuple[int, int]:
    programs = binary.ctas
    for size in grid:
        programs *= size
    return tuple(-(-size * programs // 256) * 256 for size, _ in (binary.scratch, binary.profile))


class Maker:
    """Turns the launches of a trace into nodes of a plan. `at` is where scratch memory starts."""

    def __init__(self, trace: Trace, built: Built, at: int) -> None:
        self.trace, self.built, self.at = trace, built, at

    def modules(self) -> tuple[plan.Module, ...]:
        return tuple(plan.Module("cubin", b.data) for b in self.built.binaries)

    def functions(self) -> tuple[plan.Function, ...]:
        return tuple(plan.Function(i, b.name) for i, b in enumerate(self.built.binaries))

    def node(self, launch: Launch, part: Call, places: list[int], config: int) -> plan.Launch:
        found = tuning.chosen(self.built.launches, launch, config, _request, _key)
        if found is None:
            raise BadTrace("a launch that was not compiled")
        told, index = launch.at(found[0]), found[1]
        binary = self.built.binaries[index]
        x, y, z = (*told["grid"], 1, 1)[:3]
        return plan.Launch(
            function=index,
            grid=(x * binary.ctas, y, z),
            block=(32 * binary.warps, 1, 1),
            shared=binary.shared,
            params=tuple(self._params(binary, told, places)),
            cluster=(binary.ctas, 1, 1),
            cooperative=binary.cooperative,
            pdl=binary.pdl,
        )

    def _params(self, binary: Binary, told: dict, places: list[int]) -> Iterator[plan.Param]:
        maps = iter(binary.maps)
        for path, kind in binary.params:
            yield _param(path, kind, told["args"], places, maps)
        first, second = _needs(binary, told["grid"])
        yield plan.Pointer(self.at) if first else plan.Number(8, 0)
        yield plan.Pointer(self.at + first) if second else plan.Number(8, 0)


def _param(path: tuple, kind: str, args: dict, places: list[int], maps: Iterator) -> plan.Param:
    found = _found(path, args)
    if kind == "map":
        told = next(maps, None)
        if told is None or not isinstance(found, dict) or found.keys() != {"desc"}:
            raise BadTrace("a map that belongs to no descriptor")
        return _tensor_map(found["desc"], told, places)
    if kind == "*":
        return _pointer(found, places)
    if kind in _INTEGERS:
        return _integer(found, _INTEGERS[kind], signed=kind[0] == "i" and kind != "i1")
    return _float(found, kind)


def _found(path: tuple, args: dict) -> object:
    """The part of an argument that a parameter refers to."""
    name, *rest = path
    if name not in args:
        raise BadTrace("a parameter without an argument")
    found = args[name]
    if isinstance(found, dict) and "desc" in found and rest:
        return _part_of_descriptor(found["desc"], rest)
    for part in rest:
        if not isinstance(found, dict) or "tuple" not in found or not isinstance(part, int):
            raise BadTrace("a parameter inside something that is not a tuple")
        if part >= len(found["tuple"]):
            raise BadTrace("a parameter outside its tuple")
        found = found["tuple"][part]
    return found


def _part_of_descriptor(told: list, rest: list) -> object:
    base, shape, strides, _, padding, _, tf32 = told
    plain = {"base": {"t": base}, "padding": padding == "nan", "tf32": tf32}
    if len(rest) == 1 and rest[0] in plain:
        return plain[rest[0]]
    if len(rest) == 2 and rest[0] in ("shape", "strides") and isinstance(rest[1], int):
        if rest[1] < len(shape):
            return (shape if rest[0] == "shape" else strides)[rest[1]]
    raise BadTrace("a parameter that is no part of its descriptor")


def _pointer(found: object, places: list[int]) -> plan.Param:
    if found is None:
        return plan.Number(8, 0)
    if not isinstance(found, dict):
        raise BadTrace("a pointer that is not a tensor")
    told = found["t"] if "t" in found else found.get("reinterpret", [None])[0]
    if told is None:
        raise BadTrace("a pointer that is not a tensor")
    buffer, dtype, offset, *_ = told
    return plan.Pointer(places[buffer] + offset * ITEM[dtype])


def _integer(found: object, bits: int, signed: bool) -> plan.Number:
    """An integer as the driver takes it. One that does not fit is refused, as a launcher would."""
    if not isinstance(found, (bool, int)):
        raise BadTrace("an argument that is not an integer")
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    if not low <= found < high:
        raise BadTrace("an integer that does not fit its parameter")
    return plan.Number(bits // 8, int(found) & ((1 << bits) - 1))


def _float(found: object, kind: str) -> plan.Number:
    value = float(number(found))
    if kind == "bf16":  # as Triton's launcher does it, by cutting bits off
        data = _packed("<f", value)[2:]
    else:
        data = _packed(_FLOATS[kind], value)
    return plan.Number(len(data), int.from_bytes(data, "little"))


def _packed(form: str, value: float) -> bytes:
    try:
        return struct.pack(form, value)
    except OverflowError:
        return struct.pack(form, float("inf") if value > 0 else float("-inf"))


def _tensor_map(told: list, known: dict, places: list[int]) -> plan.TensorMap:
    base, shape, strides, _, padding, _, tf32 = told
    item = known["item"]
    if item != ITEM[base[1]] or len(known["block"]) != len(shape):
        raise BadTrace("a map of another descriptor")
    if known["fp4"]:
        raise Refused("descriptor", "descriptors of packed fp4 are not supported")
    kind = _TF32 if tf32 else _MAP_TYPES.get(known["type"], known["type"])
    return plan.TensorMap(
        at=places[base[0]] + base[2] * item,
        dtype=kind,
        shape=tuple(reversed(shape)),
        strides=tuple(s * item for s in reversed(strides[:-1])),
        box=tuple(reversed(known["block"])),
        swizzle=known["swizzle"],
        fill=1 if padding == "nan" else 0,
    )


# ---- what a reader is told -----------------------------------------------------------


name = tuning.kernel_name


def views(launch: Launch, call: Call) -> list[View]:
    """The tensors passed to a launch, without duplicates."""
    found: dict[View, None] = {}
    for arg in launch.told["args"].values():
        for told in _views(arg):
            found[view(told, call.buffers)] = None
    return list(found)


def _views(arg: object) -> Iterator[list]:
    if isinstance(arg, dict):
        ((kind, content),) = arg.items()
        if kind == "t":
            yield content
        elif kind in ("desc", "reinterpret"):
            yield content[0]
        elif kind == "tuple":
            for part in content:
                yield from _views(part)
