"""A trace: what a candidate's forward does, as reported by its recorder (docs/TRACE.md).

The recorder runs the candidate's Python, which may have replaced it entirely, so a trace is bytes
from a hostile peer. It is read here, once, into values of known kinds and sizes; anything else
raises BadTrace. launches.py reads the launches."""

import gc
import itertools
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shared import overlap
from shared.program import ITEM, Add, Copy, Fill, Place

HEADER_BYTES = 32 << 20
# The most commas and opening brackets in a header: so many, more for each node or configuration, and
# two for each escaped quotation mark. Such marks are in texts, as the JSON of TileLang's functions,
# whose commas and brackets make no values here, and which has at most two of them for each mark.
MARKS, MARKS_OF_NODE, MARKS_OF_QUOTE = 1 << 20, 200, 2
ANSWER_BYTES = 8 << 20  # of JSON in a compiler's answer
BLOB_BYTES = 64 << 20  # of constants
NODES = BUFFERS = 20000  # of a call
DIMENSIONS = 16
DEPTH = 64  # of what is passed on as it came
BYTES = 1 << 42  # of a buffer
CALLS = 2  # the first, and the steady one
NAME = re.compile(r"[A-Za-z0-9_.]{1,300}")

RANGES = {"bool": (0, 1)} | {
    f"{sign}int{bits}": (0, (1 << bits) - 1) if sign else (-(1 << bits - 1), (1 << bits - 1) - 1)
    for bits in (8, 16, 32, 64)
    for sign in ("", "u")
}  # of integers
FLOATS = {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}

CLONE = "the result would depend on the order of its elements; move what you .clone() first"


class BadTrace(Exception):
    """The recorder sent something that an honest one never sends."""


class Refused(Exception):
    """Valid in a trace, but not allowed: rule and text."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule, self.text = rule, text


@dataclass(frozen=True)
class Buffer:
    """`kind`: input, state, const, new or kept. `key` identifies it: an input's index, a state's
    name, a constant's place in the blob, or the id of a kept buffer (None: never used later).
    `changes`: an input or buffer that the reference changes."""

    kind: str
    key: int | str | None
    bytes: int
    dtype: str
    changes: bool = False

    def may_change(self) -> bool:
        """Whether a kernel may write to it."""
        return self.changes or self.kind in ("new", "kept")


@dataclass(frozen=True)
class View:
    buffer: int
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def place(self, places: list[int]) -> Place:
        at = places[self.buffer] + self.offset * ITEM[self.dtype]
        return Place(at, self.dtype, self.shape, self.strides)

    def count(self) -> int:
        return math.prod(self.shape)

    def is_dense(self) -> bool:
        """Whether the elements lie one after the other, the last dimension innermost."""
        step = 1
        for stride, n in zip(reversed(self.strides), reversed(self.shape)):
            if n > 1 and stride != step:
                return False
            step *= n
        return True

    def overlaps_itself(self, expanded: tuple[int, ...] = ()) -> bool:
        return overlap.overlaps_itself(self.shape, self.strides, expanded)

    def last(self) -> int:
        return self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides))


def crossing(views: Sequence[View]) -> frozenset[tuple[int, int]]:
    """Pairs of views of one buffer, neither of which ends before the other begins."""
    return frozenset(
        (i, j)
        for j, b in enumerate(views)
        for i, a in enumerate(views[:j])
        if a.buffer == b.buffer and a.count() and b.count()
        and (a.dtype != b.dtype or a.offset <= b.last() and b.offset <= a.last())
    )  # fmt: skip


Alias = tuple  # "input" or "state", its index or name, offset, shape and strides in elements


def alias(kind: str, key: int | str, offset: int, shape: Sequence[int], strides: Sequence[int]) -> Alias:
    """The same for the same elements: the stride of a single one says nothing."""
    return kind, key, offset, tuple(shape), tuple(s if n > 1 else 0 for n, s in zip(shape, strides))


@dataclass(frozen=True)
class Move:
    """A copy (source), a fill or an addition (value). `must_fit`: the inputs and state whose values
    it makes smaller integers of."""

    op: str
    to: View
    source: View | None = None
    value: int | float | bool = 0
    must_fit: frozenset[Buffer] = frozenset()

    def node(self, places: list[int]) -> Copy | Fill | Add:
        to = self.to.place(places)
        if self.source is not None:
            return Copy(to, self.source.place(places))
        return Fill(to, self.value) if self.op == "fill" else Add(to, int(self.value))


@dataclass
class Launch:
    """A launch or call: JSON that the language's family reads. `tuned` has the configurations of an
    autotuner, each with what it changes."""

    op: str
    spec: dict
    tuned: tuple[dict, ...] = ()
    left_out: int = 0  # configurations that were not recorded

    def configurations(self) -> int:
        return max(1, len(self.tuned))

    def at(self, config: int) -> dict:
        """The launch under that configuration: grid, arguments, options."""
        return self.tuned[config] if self.tuned else self.spec

    def settle(self, config: int) -> None:
        """Makes that configuration the launch: there is no other from now on."""
        self.spec.update(self.tuned[config])
        del self.spec["tuned"]
        self.tuned = ()


@dataclass
class Call:
    buffers: list[Buffer]
    nodes: list[Move | Launch]
    raw: dict = field(repr=False)  # as it came, and as it was checked
    output: dict | None = None  # as contract's OUT; its views are `outputs`, in order
    outputs: list[View] = field(default_factory=list)

    def shares(self, but: frozenset[tuple[int, int]]) -> bool:
        """Whether two outputs, other than those pairs, have an element in the same memory."""
        pairs = ((self.outputs[i], self.outputs[j]) for i, j in crossing(self.outputs) - but)
        return any(a.dtype != b.dtype or overlap.meet(a, b) for a, b in pairs)

    def rewritten(self) -> set[int]:
        """What is kept from before, and overwritten as a whole before the first launch."""
        first = itertools.takewhile(lambda n: isinstance(n, Move) and n.op != "add", self.nodes)
        views = [n.to for n in first]
        return {
            held.key for held, v in ((self.buffers[v.buffer], v) for v in views)
            if held.kind == "kept" and v.is_dense() and v.count() * ITEM[v.dtype] == held.bytes
        }  # fmt: skip

    def launches(self) -> list[Launch]:
        return [n for n in self.nodes if isinstance(n, Launch)]

    def alias(self, i: int, names: dict[str, str]) -> Alias | None:
        """What output i is a view of; None if it lies in memory of its own. `names`: of the
        reference's state, by the candidate's."""
        v = self.outputs[i]
        held = self.buffers[v.buffer]
        if held.kind not in ("input", "state"):
            return None
        return alias(held.kind, names.get(held.key, held.key), v.offset, v.shape, v.strides)


@dataclass
class Trace:
    state: list[tuple[str, list[int], str]]
    setup: Call
    calls: list[Call]  # the first, and the steady one where it differs
    kernels: list[dict]
    texts: list[str]
    packed: bool  # __init__ computed with parameters
    blob: bytes = field(repr=False)

    @property
    def steady(self) -> Call:
        return self.calls[-1]

    def parts(self) -> list[Call]:
        return [self.setup, *self.calls]

    def scratch(self) -> set[int]:
        """What the setup made of numbers alone."""
        made = {n.to.buffer: self.setup.buffers[n.to.buffer].key for n in self.setup.nodes}
        return {*made.values()} - {made[n.to.buffer] for n in self.setup.nodes if n.source is not None} - {None}

    def configurations(self) -> int:
        return max((n.configurations() for c in self.calls for n in c.launches()), default=1)


# ---- reading -------------------------------------------------------------------------


@dataclass
class Header:
    """What a trace starts with. Its state is read first: what the rest means depends on whether
    the reference has tensors of these names."""

    raw: dict
    blob: bytes = field(repr=False)
    state: list[tuple[str, list[int], str]]


def header(data: bytes) -> Header:
    raw, blob = headed(data, HEADER_BYTES)
    if len(blob) > BLOB_BYTES:
        raise Refused("constants", f"the constants take {len(blob)} bytes; at most {BLOB_BYTES} are allowed")
    if _of_type(dict, raw, "the header").get("trace") != 1:
        raise BadTrace("a trace of another version")
    _check_keys(raw, "trace state setup calls kernels texts", "packed")
    return Header(raw, blob, [_entry(e) for e in listed(raw["state"], BUFFERS, "the state")])


def parse_trace(head: Header, inputs: list[Buffer], state: dict[str, Buffer]) -> Trace:
    """`inputs` and `state` are the judge's; a trace only names them."""
    return _Reader(inputs, state, head.blob).trace(head)


def headed(data: bytes, most: int = ANSWER_BYTES) -> tuple[object, bytes]:
    """Splits off a line of JSON. Its length is bounded, because parsed hostile JSON takes many
    times its size, and so is the number of its values, because of the time that this takes."""
    end = data.find(b"\n", 0, most)
    if end < 0:
        raise BadTrace(f"the header is missing, or longer than {most} bytes")
    line = data[:end]
    nodes, quotes, marks = (
        sum(map(line.count, parts))
        for parts in ((b'"op"', b'"grid"'), (b'\\"',), (b",", b"[", b"{"))
    )
    if marks > MARKS + MARKS_OF_NODE * nodes + MARKS_OF_QUOTE * quotes:
        raise BadTrace("the header is too long for its number of nodes")
    collects = gc.isenabled()
    gc.disable()  # it would look at all values again and again while there are more and more
    try:
        return json.loads(line), data[end + 1 :]
    except (ValueError, RecursionError) as problem:
        raise BadTrace(f"the header is not JSON: {problem}") from None
    finally:
        if collects:
            gc.enable()


def _check_keys(raw: dict, needed: str, more: str = "") -> None:
    """Refuses unknown keys: what nobody reads would only take time."""
    least = set(needed.split())
    missing, unknown = least - raw.keys(), raw.keys() - least.union(more.split())
    if missing:
        raise BadTrace(f"the key {min(missing)!r} is missing")
    if unknown:
        raise BadTrace(f"the key {min(unknown)[:40]!r} is unknown")


def _entry(raw: object) -> tuple[str, list[int], str]:
    found = listed(raw, 4, "an entry of the state")
    if len(found) < 3:
        raise BadTrace("an entry of the state is too short")
    if len(found) > 3 and found[3] not in ("parameter", "buffer"):
        raise BadTrace("a state of an unknown kind")
    shape = [whole_number(n, 0, BYTES, "a shape") for n in listed(found[1], DIMENSIONS, "a shape")]
    return text(found[0], 300, "a name"), shape, _Reader.dtype(found[2])


def _of_type(kind: type, value: object, what: str):
    if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
        raise BadTrace(f"{what} is a {type(value).__name__}")
    return value


def whole_number(value: object, low: int, high: int, what: str) -> int:
    """An integer in [low, high]."""
    number = _of_type(int, value, what)
    if not low <= number <= high:
        raise BadTrace(f"{what} is out of range")
    return number


def text(value: object, most: int, what: str) -> str:
    found = _of_type(str, value, what)
    if len(found) > most:
        raise BadTrace(f"{what} is too long")
    return found


def listed(value: object, most: int, what: str) -> list:
    found = _of_type(list, value, what)
    if len(found) > most:
        raise BadTrace(f"{what}: more than {most}")
    return found


def three(value: object, most: tuple[int, int, int], what: str) -> tuple[int, int, int]:
    """The sizes of a grid, a block or a cluster."""
    if len(listed(value, 3, what)) != 3:
        raise BadTrace(f"{what} does not have three sizes")
    return tuple(whole_number(n, 1, high, what) for n, high in zip(value, most))


def plain_number(value: object, what: str = "a number") -> int | float | bool:
    if isinstance(value, (bool, int)):
        if not -(1 << 63) <= value < 1 << 64:
            raise BadTrace(f"{what} is out of range")
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, dict) and value.keys() == {"float"}:
        if value["float"] in ("inf", "-inf", "nan"):
            return float(value["float"])
    raise BadTrace(f"{what} is not a number")


def shallow(value: object, left: int = DEPTH) -> None:
    """Refuses deep nesting, because later readers may recurse."""
    if left == 0:
        raise BadTrace("lists are nested too deeply")
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            shallow(part, left - 1)


class _Reader:
    def __init__(self, inputs: list[Buffer], state: dict[str, Buffer], blob: bytes) -> None:
        self.inputs, self.state, self.blob = inputs, state, blob
        self.kept: dict[int, tuple[int, str]] = {}  # bytes and dtype, by id
        # Where the values of memory that was written so far come from, by what it is: inputs and state,
        # beside literals and constants. None: nobody knows.
        self.values: dict[tuple, frozenset[Buffer] | None] = {}
        self.made: dict[tuple, frozenset[Buffer] | None] = {}  # the same for what the setup made

    def trace(self, head: Header) -> Trace:
        raw = head.raw
        setup = self.call(_of_type(dict, raw["setup"], "the setup"), setup=True)
        calls = [self.call(_of_type(dict, c, "a call")) for c in listed(raw["calls"], CALLS, "the calls")]
        if not calls:
            raise BadTrace("no call")
        kernels = [_of_type(dict, k, "a kernel") for k in listed(raw["kernels"], 1000, "kernels")]
        shallow(kernels)
        texts = [text(t, 1 << 20, "a text") for t in listed(raw["texts"], 100, "texts")]
        packed = _of_type(bool, raw.get("packed", False), "packed")
        return Trace(head.state, setup, calls, kernels, texts, packed, self.blob)

    def call(self, raw: dict, setup: bool = False) -> Call:
        _check_keys(raw, "buffers nodes" if setup else "buffers nodes output")
        buffers = [self.buffer(b) for b in listed(raw["buffers"], BUFFERS, "the buffers")]
        if setup and any(b.kind in ("input", "kept") for b in buffers):
            raise BadTrace("the setup uses inputs")
        places = [_memory_at(i, buffers) for i, b in enumerate(buffers) if b.kind != "const"]
        if len(set(places)) < len(places):
            raise BadTrace("one memory as two buffers")
        call, self.values = Call(buffers, [], raw), dict(self.made)
        for node in listed(raw["nodes"], NODES, "the nodes"):
            call.nodes.append(self.node(_of_type(dict, node, "a node"), buffers, setup))
        if setup:
            self.made = {what: known for what, known in self.values.items() if what[0] == "kept"}
        if not setup:
            call.output = _of_type(dict, raw["output"], "the output")
            call.outputs = list(self.output(call.output, buffers, DEPTH))
        return call

    # ---- buffers and views ----

    def buffer(self, raw: object) -> Buffer:
        kind = _of_type(dict, raw, "a buffer").get("kind")
        if kind == "input":
            _check_keys(raw, "kind index")
            return self.inputs[whole_number(raw["index"], 0, len(self.inputs) - 1, "an input")]
        if kind == "state":
            _check_keys(raw, "kind name")
            name = text(raw["name"], 300, "a name")
            if name not in self.state:
                raise BadTrace("a state that the reference does not have")
            return self.state[name]
        own = "at" if kind == "const" else "id" if kind == "kept" else ""
        _check_keys(raw, f"kind bytes dtype {own}", "id" if kind == "new" else "")
        size = whole_number(raw["bytes"], 0, BYTES, "a buffer's size")
        dtype = self.dtype(raw["dtype"])
        if kind == "const":
            at = whole_number(raw["at"], 0, len(self.blob), "a constant")
            if at + size > len(self.blob):
                raise BadTrace("a constant outside the blob")
            return Buffer("const", at, size, dtype)
        if kind == "new":
            key = None if raw.get("id") is None else whole_number(raw["id"], 0, 1 << 31, "an id")
            if key is not None:
                if key in self.kept:
                    raise BadTrace("two buffers with one id")
                self.kept[key] = size, dtype
            return Buffer("new", key, size, dtype)
        if kind == "kept":
            key = whole_number(raw["id"], 0, 1 << 31, "an id")
            if self.kept.get(key) != (size, dtype):
                raise BadTrace("a kept buffer that does not exist")
            return Buffer("kept", key, size, dtype)
        raise BadTrace("an unknown kind of buffer")

    @staticmethod
    def dtype(value: object) -> str:
        if not isinstance(value, str) or value not in ITEM:
            raise BadTrace("an unknown dtype")
        return value

    def view(self, raw: object, buffers: list[Buffer], backwards: bool = False) -> View:
        return view(raw, buffers, backwards)

    # ---- nodes ----

    def node(self, raw: dict, buffers: list[Buffer], setup: bool) -> Move | Launch:
        op = raw.get("op")
        if op in ("copy", "fill", "add"):
            return self.move(op, raw, buffers, setup)
        if op in ("launch", "call") and not setup:
            more = "kernel grid options" if op == "launch" else "text function"
            _check_keys(raw, f"op args {more}", "tuned left_out")
            shallow(raw)
            tuned = listed(raw.get("tuned", []), 1000, "configurations")
            for part in tuned:
                _check_keys(_of_type(dict, part, "a configuration"), "grid args options")
            if tuned and any(tuned[0].get(k) != raw.get(k) for k in ("grid", "args", "options")):
                raise BadTrace("a first configuration that is not the node's own")
            left_out = whole_number(raw.get("left_out", 0), 0, 1 << 20, "configurations left out")
            for i in {*_passed_buffers(raw)}:
                held = buffers[i] if i is not None and 0 <= i < len(buffers) else None
                if held and held.may_change():
                    self.values[_memory_at(i, buffers)] = None
            return Launch(op, raw, tuple(tuned), left_out)
        raise BadTrace("an unknown kind of node")

    def move(self, op: str, raw: dict, buffers: list[Buffer], setup: bool) -> Move:
        _check_keys(raw, "op to from" if op == "copy" else "op to value")
        to = self.view(raw["to"], buffers)
        self.own_dtype(to, buffers)
        held = buffers[to.buffer]
        if setup and held.kind != "new":
            raise BadTrace("the setup changes inputs or state")
        if held.kind == "input" and not held.changes:
            raise Refused("input-mutated", "forward changes an input that the reference leaves alone")
        if to.overlaps_itself():
            raise Refused("move-overlaps", "elements that a copy or fill writes share memory: " + CLONE)
        if op == "copy":
            source = self.view(raw["from"], buffers, backwards=True)
            self.own_dtype(source, buffers)
            if source.shape != to.shape:
                raise BadTrace("a copy between different shapes")
            if source.buffer == to.buffer and source != to and overlap.meet(source, to):
                raise Refused("move-overlaps", "a copy reads memory that it also writes: " + CLONE)
            known = self.known(source.buffer, buffers)
            check_cast(source.dtype, to.dtype, known)
            before = self.known(to.buffer, buffers)
            self.values[_memory_at(to.buffer, buffers)] = None if None in (before, known) else before | known
            fits = _fits_into(source.dtype, to.dtype)
            return Move("copy", to, source, must_fit=frozenset() if fits else known)
        value = plain_number(raw["value"])
        if op == "add":
            if setup or held.kind != "state" or held.dtype in FLOATS or to.count() != 1:
                raise BadTrace("an addition to a tensor that is not a counter")
            self.values[_memory_at(to.buffer, buffers)] = None
            return Move("add", to, value=whole_number(value, -(1 << 31), 1 << 31, "an addend"))
        return Move("fill", to, value=value)

    def known(self, i: int, buffers: list[Buffer]) -> frozenset[Buffer] | None:
        """Where the values of a buffer come from."""
        held = buffers[i]
        first = {"input": frozenset({held}), "state": frozenset({held}), "kept": None}
        return self.values.get(_memory_at(i, buffers), first.get(held.kind, frozenset()))

    @staticmethod
    def own_dtype(v: View, buffers: list[Buffer]) -> None:
        """A move that reads bits as another type would be arithmetic, so it is refused."""
        if buffers[v.buffer].dtype != v.dtype:
            raise Refused("move-reinterprets", "a copy or fill uses a tensor with another dtype "
                          "than it was made with; only kernels may do that")  # fmt: skip

    # ---- the output ----

    def output(self, raw: dict, buffers: list[Buffer], left: int) -> Iterator[View]:
        """The views of the output; structure.py compares the containers."""
        if left == 0 or len(raw) != 1:
            raise BadTrace("an unknown kind of output")
        ((kind, value),) = raw.items()
        if kind == "tensor":
            yield self.view(value, buffers)
        elif kind in ("list", "tuple"):
            for part in listed(value, 10000, "the output"):
                yield from self.output(_of_type(dict, part, "an output"), buffers, left - 1)
        elif kind == "dict":
            for pair in listed(value, 10000, "the output"):
                if len(listed(pair, 2, "an item")) != 2:
                    raise BadTrace("an item of the output is not a pair")
                yield from self.output(_of_type(dict, pair[1], "an output"), buffers, left - 1)
        elif kind != "value":
            raise BadTrace("an unknown kind of output")
        elif value is not None and not isinstance(value, str):
            plain_number(value, "a plain value of the output")


def view(raw: object, buffers: list[Buffer], backwards: bool = False) -> View:
    """A view that lies within its buffer. `backwards`: strides may be negative."""
    found = listed(raw, 5, "a view")
    if len(found) != 5:
        raise BadTrace("a view is too short")
    index = whole_number(found[0], 0, len(buffers) - 1, "a buffer's index")
    dtype = _Reader.dtype(found[1])
    offset = whole_number(found[2], 0, BYTES, "an offset")
    shape = [whole_number(n, 0, BYTES, "a shape") for n in listed(found[3], DIMENSIONS, "a shape")]
    low = -BYTES if backwards else 0
    strides = [whole_number(n, low, BYTES, "a stride") for n in listed(found[4], DIMENSIONS, "strides")]
    if len(shape) != len(strides):
        raise BadTrace("a view needs as many strides as dimensions")
    first = last = offset
    for n, stride in zip(shape, strides):
        step = (n - 1) * stride if n else 0
        first, last = first + min(step, 0), last + max(step, 0)
    if 0 not in shape and (first < 0 or (last + 1) * ITEM[dtype] > buffers[index].bytes):
        raise BadTrace("a view outside its buffer")
    return View(index, dtype, offset, tuple(shape), tuple(strides))


def _fits_into(source: str, to: str) -> bool:
    """Whether all integers of one dtype are in the other; true for other kinds of dtypes."""
    if source not in RANGES or to not in RANGES:
        return True
    return RANGES[to][0] <= RANGES[source][0] and RANGES[source][1] <= RANGES[to][1]


def _passed_buffers(raw: object) -> Iterator[object]:
    """The buffers that a launch is given in any of its configurations, and may write to."""
    if isinstance(raw, list):
        for part in raw:
            yield from _passed_buffers(part)
    for kind, value in raw.items() if isinstance(raw, dict) else ():
        held = value[0] if kind in ("desc", "reinterpret") and isinstance(value, list) and value else value
        if kind in ("t", "desc", "reinterpret") and isinstance(held, list) and held:
            yield held[0] if isinstance(held[0], int) else None
        else:
            yield from _passed_buffers(value)


def _memory_at(i: int, buffers: list[Buffer]) -> tuple:
    """The same for the same memory, also in later calls."""
    held = buffers[i]
    if held.kind == "new":
        return ("new", i) if held.key is None else ("kept", held.key)
    return held.kind, held.key


def check_cast(source: str, to: str, known: frozenset[Buffer] | None) -> None:
    """Allows casts between floating types, from integers to floating types, and between integers
    where no value changes: no rounding to whole numbers, no comparison, no remainder. Moves and
    literals alone leave the values of inputs and state as they are, which the judge looks at before
    each call (session.py); what a kernel may have written, or an addition, nobody knows."""
    if source == to or source not in FLOATS and to in FLOATS or source in FLOATS and to in FLOATS:
        return
    if source in FLOATS or to == "bool":
        raise Refused("cast", f"a cast from {source} to {to} computes; do it in a kernel")
    if not _fits_into(source, to) and known is None:
        raise Refused("cast", f"a cast from {source} to {to} may change values, which is computing: "
                      "cast what comes from inputs and buffers by moves alone, whose values fit, before a "
                      "kernel gets it, or do it in a kernel")  # fmt: skip


# ---- two recordings --------------------------------------------------------------------


def outline(trace: Trace) -> list:
    """A trace without scalars, sizes and grids. It must not change when forward is called with
    other Python numbers."""
    parts = []
    for part in trace.parts():
        buffers = [(b.kind, b.dtype, b.key, b.bytes if b.kind == "const" else 0) for b in part.buffers]
        parts.append([buffers, [_node_outline(n) for n in part.nodes]])
    return [parts, trace.kernels, trace.texts, trace.packed, trace.blob]


def _node_outline(node: Move | Launch) -> object:
    if isinstance(node, Launch):
        return _launch_outline(node.spec)
    source = (node.source.buffer, node.source.dtype) if node.source else None
    return node.op, node.to.buffer, node.to.dtype, source


def _launch_outline(spec: dict) -> dict:
    """The outline of a node or a configuration. A kernel's parameters may have any names."""
    found = {k: _outline(v) for k, v in spec.items() if k not in ("grid", "args", "tuned")}
    args = spec.get("args")
    if isinstance(args, dict):
        found["args"] = {name: _outline(arg) for name, arg in args.items()}
    else:
        found["args"] = _outline(args)
    found["tuned"] = [_launch_outline(one) for one in spec.get("tuned", [])]
    return found


def _outline(raw: object) -> object:
    if isinstance(raw, dict):
        if raw.keys() == {"t"}:
            return raw["t"][:2]
        if isinstance(raw.get("b"), str) and raw.keys() <= {"b", "t", "o"}:  # bytes, an address
            return len(raw["b"]), raw.get("t", [])[:2]
        return {k: _outline(v) for k, v in raw.items()}
    if isinstance(raw, list):
        return [_outline(v) for v in raw]
    return type(raw).__name__ if isinstance(raw, (int, float)) and not isinstance(raw, bool) else raw
