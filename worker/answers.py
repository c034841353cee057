"""What a candidate's process says, read as what it is: bytes from a hostile peer.
An honest harness never says anything else than what is taken here, so anything
else is a forgery, and never an error of the judge's."""

import math
from dataclasses import dataclass

from audit import KINDS
from steps import Forged

NAMES = 200  # names of operators, launches, functions that are kept
TEXT = 200  # characters of each
DEPTH = 16  # of what is passed on as it came: types of tuples in tuples


def _of(kind: type | tuple, value: object, what: str) -> object:
    if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
        raise Forged(f"{what} is a {type(value).__name__}")
    return value


def _bounded(value: object, most: int, what: str) -> int:
    number = int(_of(int, value, what))
    if not 0 <= number <= most:
        raise Forged(f"{what} is out of range")
    return number


def _shallow(value: object, left: int) -> None:
    if left == 0:
        raise Forged("lists in lists in lists")
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, (dict, list)):
            _shallow(part, left - 1)


def _texts(value: object, what: str) -> list[str]:
    return [str(_of(str, v, what))[:TEXT] for v in _of(list, value, what)[:NAMES]]


def _counts(value: object, what: str) -> dict[str, int]:
    items = list(_of(dict, value, what).items())[:NAMES]
    return {k[:TEXT]: int(_of(int, v, what)) for k, v in items}


def _kinds(value: object) -> dict[str, list[str]]:
    found = _of(dict, value, "the audit")
    if not found.keys() <= set(KINDS.values()):
        raise Forged("an audit of other kinds")
    return {kind: _texts(names, "the audit") for kind, names in found.items()}


def _shape(value: object) -> list[int]:
    return [int(_of(int, n, "a shape")) for n in _of(list, value, "a shape")[:64]]


@dataclass
class Problem:
    """An exception on the other side."""

    stage: str
    kind: str
    text: str
    compile: bool


def problem(answer: dict) -> Problem | None:
    if "error" not in answer:
        return None
    told = _of(dict, answer["error"], "an error")
    return Problem(
        str(_of(str, told.get("stage"), "an error's stage")),
        str(_of(str, told.get("type"), "an error's type")),
        str(_of(str, told.get("text"), "an error's text")),
        bool(_of(bool, told.get("compile", False), "an error's kind")),
    )


@dataclass
class Loaded:
    state: list[tuple[str, list[int], str]]  # name, shape, dtype
    patched: list[str]


def loaded(answer: dict) -> Loaded:
    state = []
    for entry in _of(list, answer.get("state"), "the state"):
        if len(_of(list, entry, "the state")) != 3:
            raise Forged("the state's entries are no triples")
        name, dtype = (str(_of(str, entry[i], "the state")) for i in (0, 2))
        state.append((name, _shape(entry[1]), dtype))
    return Loaded(state, _texts(answer.get("patched"), "patched"))


@dataclass
class Seen:
    """What the harness saw during a call."""

    outputs: list[tuple[list[int], str]]
    output_problems: list[str]
    ops: dict[str, int]
    foreign: dict[str, int]
    readback: list[str]
    launches: list[str]
    patched: list[str]
    mutated: bool
    attributes: bool
    params_changed: bool
    guard: bool
    threads: int
    processes: int
    memory: int  # bytes of the device that its process has had
    audit: dict[str, list[str]]  # what its code asked of the system, by kind


_FLAGS = ("mutated", "attributes", "params_changed", "guard")
_NUMBERS = ("threads", "processes")
DEVICE = 1 << 42  # bytes, more than any device has


def seen(answer: dict) -> Seen:
    told = _of(dict, answer.get("evidence"), "the evidence")
    outputs = []
    for entry in _of(list, answer.get("outputs"), "outputs")[:NAMES]:
        _of(dict, entry, "an output")
        dtype = str(_of(str, entry.get("dtype"), "a dtype"))[:TEXT]
        outputs.append((_shape(entry.get("shape")), dtype))
    return Seen(
        outputs=outputs,
        output_problems=_texts(answer.get("output_problems"), "output problems"),
        ops=_counts(told.get("ops"), "operators"),
        foreign=_counts(told.get("foreign"), "foreign operators"),
        readback=_texts(told.get("readback"), "readback"),
        launches=_texts(told.get("launches"), "launches"),
        patched=_texts(told.get("patched"), "patched"),
        memory=_bounded(told.get("memory"), DEVICE, "memory"),
        audit=_kinds(told.get("audit")),
        **{name: bool(_of(bool, told.get(name), name)) for name in _FLAGS},
        **{name: int(_of(int, told.get(name), name)) for name in _NUMBERS},
    )


def milliseconds(answer: dict) -> float:
    """A time that a candidate claims; at least a number."""
    value = answer.get("ms")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Forged("a time is no number")
    try:
        value = float(value)
    except OverflowError:
        raise Forged("a time is out of range") from None
    if not math.isfinite(value) or not 0 <= value < 1e9:
        raise Forged("a time is out of range")
    return value


def builds(answer: dict) -> str | None:
    """What a pack's builds depend on, as a hash; None where it builds nothing."""
    value = answer.get("builds")
    return None if value is None else str(_of(str, value, "builds"))[:TEXT]


def size(answer: dict, most: int) -> int:
    return _bounded(answer.get("size"), most, "a size")


def launched(answer: dict) -> int:
    return int(_of(int, answer.get("launched"), "launched"))


def muted(answer: dict) -> bool:
    return bool(_of(bool, answer.get("muted"), "muted"))


def described(answer: dict) -> list[tuple[str, dict]] | None:
    """Launches with their names, for a compiling process, which reads them as hostile again;
    None where what ran was compiled."""
    if not _of(bool, answer.get("compiles"), "compiles"):
        return None
    launches = [_of(dict, d, "a launch") for d in _of(list, answer.get("launches"), "launches")]
    for launch in launches:
        _of(int, launch.get("line"), "a line")
        _shallow(launch, DEPTH)
    return [(str(_of(str, d.get("name"), "a name")).rpartition(".")[2], d) for d in launches]


def kernels(answer: dict) -> tuple[str, dict[str, int]] | None:
    """A file's kernels by themselves, with their lines in it; None where there are none."""
    if answer.get("text") is None:
        return None
    lines = _of(dict, answer.get("lines"), "lines")
    text = str(_of(str, answer["text"], "kernels"))
    return text, {name: int(_of(int, line, "a line")) for name, line in lines.items()}


def compiler(answer: dict) -> str | None:
    """What compiling for a GPU depends on, as a hash; None where nothing is kept of it."""
    value = answer.get("compiler")
    return None if value is None else str(_of(str, value, "compiler"))[:TEXT]


def compiled(answer: dict) -> tuple[str | None, list[str]]:
    """Why a compiling process says that something does not compile, and what was
    replaced there."""
    value = answer.get("problem")
    told = None if value is None else str(_of(str, value, "a problem"))
    return told, _texts(answer.get("patched"), "patched")
