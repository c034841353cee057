"""A trace is bytes from a hostile peer: whatever is not one is refused, and nothing that is
read lies outside what the judge has."""

from __future__ import annotations

import copy
import itertools
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

from judge import traces  # noqa: E402
from judge.traces import BadTrace, Buffer, Refused, View  # noqa: E402
from shared import overlap  # noqa: E402

INPUTS = [Buffer("input", 0, 4 * 12, "float32"), Buffer("input", 1, 8 * 4, "int64")]
STATE = {"weight": Buffer("state", "weight", 4 * 6, "float32"),
         "count": Buffer("state", "count", 8, "int64")}  # fmt: skip


def honest() -> dict:
    """Two calls, of which the first keeps a buffer, a copy, a fill, a counter, a launch."""
    nodes = [
        {"op": "fill", "to": [2, "float32", 0, [3, 4], [4, 1]], "value": {"float": "-inf"}},
        {"op": "copy", "to": [2, "float32", 0, [3, 4], [4, 1]], "from": [0, "float32", 3, [3, 4], [4, -1]]},
        {"op": "add", "to": [4, "int64", 0, [], []], "value": 1},
        {"op": "launch", "kernel": 0, "grid": [2], "args": {"x": {"t": [0, "float32", 0, [12], [1]]}},
         "options": {}},
    ]  # fmt: skip
    buffers = [
        {"kind": "input", "index": 0}, {"kind": "input", "index": 1},
        {"kind": "new", "bytes": 48, "dtype": "float32"},
        {"kind": "const", "at": 2, "bytes": 8, "dtype": "float32"},
        {"kind": "state", "name": "count"}, {"kind": "state", "name": "weight"},
    ]  # fmt: skip
    output = {"tuple": [{"tensor": [2, "float32", 0, [3, 4], [4, 1]]}, {"value": None}]}
    first = {"buffers": [*buffers, {"kind": "new", "bytes": 16, "dtype": "float16", "id": 7}],
             "nodes": nodes, "output": output}  # fmt: skip
    steady = {"buffers": [*buffers, {"kind": "kept", "bytes": 16, "dtype": "float16", "id": 7}],
              "nodes": nodes, "output": output}  # fmt: skip
    return {
        "trace": 1, "state": [["weight", [2, 3], "float32", "parameter"]],
        "setup": {"buffers": [], "nodes": []}, "calls": [first, steady],
        "kernels": [{"name": "k"}], "texts": ["text"], "packed": False,
    }  # fmt: skip


def parse(header: dict, blob: bytes = bytes(16)) -> traces.Trace:
    return traces.parse_trace(traces.header(json.dumps(header).encode() + b"\n" + blob), INPUTS, STATE)


def test_an_honest_trace_is_read() -> None:
    trace = parse(honest())
    assert [len(c.nodes) for c in trace.calls] == [4, 4]
    assert trace.steady.outputs[0].shape == (3, 4)
    assert trace.calls[0].buffers[0] is INPUTS[0]
    assert [b.kind for b in trace.steady.buffers][-1] == "kept"


# Each changes one thing of an honest trace: where, and to what.
FIRST, STEADY = ("calls", 0), ("calls", 1)
HOSTILE = {
    "another version": (("trace",), 2),
    "no calls": (("calls",), []),
    "three calls": (("calls",), [{}, {}, {}]),
    "a call that is a list": (("calls", 0), []),
    "calls that are text": (("calls",), "call"),
    "no setup": (("setup",), None),
    "a launch in the setup": (("setup", "nodes"), [{"op": "launch"}]),
    "a counter in the setup": (("setup",), {"buffers": [{"kind": "state", "name": "count"}],
                               "nodes": [{"op": "add", "to": [0, "int64", 0, [], []], "value": 1}]}),
    "kernels that are a dict": (("kernels",), {}),
    "a kernel that is text": (("kernels",), ["k"]),
    "a text that is a number": (("texts",), [1]),
    "a text of two megabytes": (("texts",), ["x" * (2 << 20)]),
    "a state's entry that is too short": (("state",), [["weight"]]),
    "a state of a negative shape": (("state",), [["weight", [-1], "float32"]]),
    "an input that is not there": ((*FIRST, "buffers", 0, "index"), 2),
    "an input before the first": ((*FIRST, "buffers", 0, "index"), -1),
    "an input by a bool": ((*FIRST, "buffers", 0, "index"), True),
    "an input by a float": ((*FIRST, "buffers", 0, "index"), 0.0),
    "a state that is nobody's": ((*FIRST, "buffers", 4, "name"), "other"),
    "a state whose name is a list": ((*FIRST, "buffers", 4, "name"), ["count"]),
    "an unknown kind of buffer": ((*FIRST, "buffers", 2, "kind"), "truth"),
    "a buffer of a negative size": ((*FIRST, "buffers", 2, "bytes"), -1),
    "a buffer of a huge size": ((*FIRST, "buffers", 2, "bytes"), 1 << 60),
    "a buffer of an unknown dtype": ((*FIRST, "buffers", 2, "dtype"), "complex64"),
    "a buffer whose dtype is a number": ((*FIRST, "buffers", 2, "dtype"), 4),
    "a constant behind the blob": ((*FIRST, "buffers", 3, "at"), 17),
    "a constant that ends behind the blob": ((*FIRST, "buffers", 3, "bytes"), 15),
    "a constant before the blob": ((*FIRST, "buffers", 3, "at"), -4),
    "a kept buffer that nobody made": ((*STEADY, "buffers", 6, "id"), 8),
    "a kept buffer that has grown": ((*STEADY, "buffers", 6, "bytes"), 1 << 30),
    "a kept buffer of another dtype": ((*STEADY, "buffers", 6, "dtype"), "int64"),
    "two buffers with one id": ((*STEADY, "buffers", 6), {"kind": "new", "bytes": 16, "dtype": "float16", "id": 7}),
    "a view of no buffer": ((*FIRST, "nodes", 0, "to", 0), 9),
    "a view of the buffer before the first": ((*FIRST, "nodes", 0, "to", 0), -1),
    "a view that begins behind its buffer": ((*FIRST, "nodes", 0, "to", 2), 12),
    "a view that begins before its buffer": ((*FIRST, "nodes", 0, "to", 2), -1),
    "a view that ends behind its buffer": ((*FIRST, "nodes", 0, "to", 3), [4, 4]),
    "a view whose strides leave its buffer": ((*FIRST, "nodes", 0, "to", 4), [1 << 40, 1]),
    "a view of more dimensions than strides": ((*FIRST, "nodes", 0, "to", 3), [3, 4, 1]),
    "a view of seventeen dimensions": ((*FIRST, "nodes", 0, "to"), [2, "float32", 0, [1] * 17, [1] * 17]),
    "a view that is too short": ((*FIRST, "nodes", 0, "to"), [2, "float32", 0, [3, 4]]),
    "a view that is a dict": ((*FIRST, "nodes", 0, "to"), {"buffer": 2}),
    "a view with a negative shape": ((*FIRST, "nodes", 0, "to", 3), [-3, -4]),
    "a write that goes backwards": ((*FIRST, "nodes", 0, "to", 4), [-4, 1]),
    "a source that goes backwards out of its buffer": ((*FIRST, "nodes", 1, "from", 2), 2),
    "a write into an expanded tensor": ((*FIRST, "nodes", 0, "to", 4), [0, 1]),
    "a write whose elements share memory": ((*FIRST, "nodes", 0, "to", 4), [2, 1]),
    "a copy of rows to the rows below": ((*FIRST, "nodes", 1),
        {"op": "copy", "to": [2, "float32", 4, [2, 4], [4, 1]], "from": [2, "float32", 0, [2, 4], [4, 1]]}),
    "a copy of a matrix to its transpose": ((*FIRST, "nodes", 1),
        {"op": "copy", "to": [2, "float32", 0, [3, 3], [3, 1]], "from": [2, "float32", 0, [3, 3], [1, 3]]}),
    "a copy that turns its own elements round": ((*FIRST, "nodes", 1),
        {"op": "copy", "to": [2, "float32", 0, [12], [1]], "from": [2, "float32", 11, [12], [-1]]}),
    "one memory as two buffers": ((*FIRST, "buffers", 1, "index"), 0),
    "a copy between different shapes": ((*FIRST, "nodes", 1, "from"), [0, "float32", 0, [4, 3], [3, 1]]),
    "a copy from an int64 buffer as float": ((*FIRST, "nodes", 1, "from"), [1, "float32", 0, [3, 4], [0, 0]]),
    "a copy from a float buffer as int32": ((*FIRST, "nodes", 1, "from", 1), "int32"),
    "a cast from float to int": ((*FIRST, "nodes", 1),
        {"op": "copy", "to": [1, "int64", 0, [4], [1]], "from": [0, "float32", 0, [4], [1]]}),
    "a cast from int to bool": ((*FIRST, "nodes", 1),
        {"op": "copy", "to": [6, "bool", 0, [4], [1]], "from": [1, "int64", 0, [4], [1]]}),
    "a fill with a tensor": ((*FIRST, "nodes", 0, "value"), {"t": [0, "float32", 0, [], []]}),
    "a fill with text": ((*FIRST, "nodes", 0, "value"), "1"),
    "a fill with an odd float": ((*FIRST, "nodes", 0, "value"), {"float": "1e5"}),
    "a fill with a huge number": ((*FIRST, "nodes", 0, "value"), 1 << 80),
    "an addition to floats": ((*FIRST, "nodes", 2, "to"), [5, "float32", 0, [], []]),
    "an addition to an input": ((*FIRST, "nodes", 2, "to"), [1, "int64", 0, [], []]),
    "an addition to many": ((*FIRST, "nodes", 2, "to"), [1, "int64", 0, [4], [1]]),
    "an addition of a float": ((*FIRST, "nodes", 2, "value"), 0.5),
    "an unknown kind of node": ((*FIRST, "nodes", 0, "op"), "exec"),
    "a node that is a list": ((*FIRST, "nodes", 0), []),
    "nodes that are text": ((*FIRST, "nodes"), "copy"),
    "configurations that are text": ((*FIRST, "nodes", 3, "tuned"), "all"),
    "a configuration that is a number": ((*FIRST, "nodes", 3, "tuned"), [1]),
    "no output": ((*FIRST, "output"), None),
    "an output of two kinds": ((*FIRST, "output"), {"tensor": [], "value": 1}),
    "an unknown kind of output": ((*FIRST, "output"), {"pickle": "x"}),
    "an output outside its buffer": ((*FIRST, "output"), {"tensor": [2, "float32", 1, [3, 4], [4, 1]]}),
    "an item that is no pair": ((*FIRST, "output"), {"dict": [["a"]]}),
}  # fmt: skip


def changed(header: dict, path: tuple, value: object) -> dict:
    header = copy.deepcopy(header)
    at = header
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return header


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused(name: str) -> None:
    with pytest.raises((BadTrace, Refused)):
        parse(changed(honest(), *HOSTILE[name]))


@pytest.mark.parametrize("to, source", [
    ([0, [3, 2], [4, 1]], [2, [3, 2], [4, 1]]),  # halves of each row
    ([0, [6], [2]], [1, [6], [2]]),  # every other element
    ([0, [6], [2]], [11, [6], [-2]]),
    ([0, [2, 4], [4, 1]], [8, [2, 4], [0, 1]]),  # one row to two others
    ([4, [3], [1]], [4, [3], [1]]),  # elements to themselves
])  # fmt: skip
def test_a_copy_within_one_memory_whose_elements_do_not_meet_is_read(to: list, source: list) -> None:
    node = {"op": "copy", "to": [2, "float32", *to], "from": [2, "float32", *source]}
    assert parse(changed(honest(), (*FIRST, "nodes", 1), node)).calls[0].nodes[1].source


def test_views_meet_where_their_elements_do() -> None:
    chance = random.Random(1)

    def drawn() -> tuple[View, set[int]]:
        sizes = [chance.choice((0, 1, 2, 3, 4, 4, 4)) for _ in range(chance.randint(0, 3))]
        strides = [chance.choice((-7, -3, -1, 0, 1, 2, 3, 4, 5, 8, 12)) for _ in sizes]
        made = View(0, "float32", chance.randint(0, 40), tuple(sizes), tuple(strides))
        places = itertools.product(*map(range, sizes))
        return made, {made.offset + sum(i * s for i, s in zip(place, strides)) for place in places}

    met = 0
    for _ in range(5000):
        (a, its), (b, others) = drawn(), drawn()
        assert overlap.meet(a, b) == bool(its & others), (a, b)
        met += bool(its & others)
    assert 500 < met < 4500
    huge = View(0, "float32", 0, (1 << 20,) * 4, (999983, 999979, 999961, 999959))
    assert overlap.meet(huge, replace(huge, offset=1)), "what takes long to find out"


@pytest.mark.parametrize("data", [
    b"", b"\n", b"{}\n", b"null\n", b"[1]\n", b"{\"trace\": 1}\n", b"\xff\xfe\n", b"{" * 100 + b"\n",
    b"[" * 200000 + b"]" * 200000 + b"\n", b"x" * 100, b'{"trace": NaN}\n',
])  # fmt: skip
def test_bytes_that_are_no_trace_are_refused(data: bytes) -> None:
    with pytest.raises(BadTrace):
        traces.parse_trace(traces.header(data), INPUTS, STATE)


def test_more_constants_than_may_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "BLOB_BYTES", 15)
    with pytest.raises(Refused, match="constants take 16 bytes"):
        parse(honest())


def test_more_nodes_than_may_be_are_refused() -> None:
    nodes = honest()["calls"][0]["nodes"][:1] * (traces.NODES + 1)
    with pytest.raises(BadTrace):
        parse(changed(honest(), (*FIRST, "nodes"), nodes))


@pytest.mark.parametrize(
    "path", [(), ("setup",), FIRST, (*FIRST, "buffers", 0), (*FIRST, "buffers", 2), (*FIRST, "buffers", 3),
             (*FIRST, "buffers", 4), (*FIRST, "buffers", 6), (*STEADY, "buffers", 6), (*FIRST, "nodes", 0),
             (*FIRST, "nodes", 1), (*FIRST, "nodes", 2), (*FIRST, "nodes", 3), (*FIRST, "output")],
)  # fmt: skip
def test_a_key_that_nobody_reads_is_refused(path: tuple) -> None:
    with pytest.raises(BadTrace, match="unknown"):
        parse(changed(honest(), (*path, "more"), 1))


@pytest.mark.parametrize("path", [("state", 0), ("state", 0, 3)])
def test_an_entry_of_the_state_has_nothing_more(path: tuple) -> None:
    entry = ["weight", [2, 3], "float32", "parameter", 1] if len(path) == 2 else [[]] * 4
    with pytest.raises(BadTrace):
        parse(changed(honest(), path, entry))


def test_a_header_out_of_proportion_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing is what costs time and memory."""
    line = json.dumps(honest())[:-1]
    monkeypatch.setattr(json, "loads", lambda *_: pytest.fail("it was parsed"))
    for padding in ("[],", "{},", "0,"):
        data = f'{line}, "more": [{padding * (8 << 20)} 0]}}'.encode() + b"\n"
        with pytest.raises(BadTrace, match="too long for its number of nodes"):
            traces.header(data)


def test_a_header_of_the_most_nodes_and_of_long_texts_is_in_proportion() -> None:
    node = {"op": "launch", "kernel": 0, "grid": [1, 1, 1], "options": {"num_warps": 4}, "args": {
        f"p{i}": {"t": [0, "float32", 0, [2, 3, 2, 1], [6, 2, 1, 1]]} for i in range(8)}}  # fmt: skip
    nodes = [node] * traces.NODES
    header = changed(changed(honest(), (*FIRST, "nodes"), nodes), (*STEADY, "nodes"), nodes)
    header["texts"] = [json.dumps([{"key": [1, {"more": "text"}]}] * 20000)] * 4
    trace = parse(header)
    assert [len(c.nodes) for c in trace.calls] == [traces.NODES] * 2


ODD = [None, True, -1, 0, 1, 2**31, 2**63, 2**64, -(2**63), 0.5, "", "float32", "x" * 1000, [], {}, [[]],
       {"t": []}, {"float": "nan"}, [0, "float32", 0, [1], [1]]]  # fmt: skip


def test_for_other_numbers_an_outline_stays() -> None:
    """Numbers may be told as bytes, and parameters may have the names that a trace uses."""

    def outline(*args: object) -> list:
        header = honest()
        node = header["calls"][1]["nodes"][3]
        node["args"] = dict(zip(("t", "grid"), args))
        return traces.outline(parse(header))

    tensor, other = ({"t": [i, "float32", 0, [12], [1]]} for i in (0, 2))
    assert outline(tensor) == outline(tensor)
    assert outline(tensor) != outline(other)
    assert outline(tensor, other) != outline(tensor, tensor)
    assert outline(tensor, {"b": "0000803f"}) == outline(tensor, {"b": "00000040"})
    assert outline(tensor, {"b": "0000803f"}) != outline(tensor, {"b": "803f"})
    assert outline({"b": "00" * 8, "o": 0} | tensor) != outline({"b": "00" * 8, "o": 0} | other)


def everywhere(value: object, path: tuple = ()) -> list[tuple]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        found += everywhere(part, (*path, key))
    return found


def test_no_change_of_a_trace_raises_anything_else() -> None:
    """Every place with every odd value, and several places at once by chance."""
    chance, places = random.Random(1), everywhere(honest())
    cases = [[(place, odd)] for place in places for odd in ODD]
    cases += [[(chance.choice(places), chance.choice(ODD)) for _ in range(3)] for _ in range(3000)]
    for case in cases:
        header = honest()
        for place, odd in case:
            try:
                header = changed(header, place, odd)
            except (KeyError, IndexError, TypeError):
                continue
        try:
            trace = parse(header)
        except (BadTrace, Refused):
            continue
        for part in trace.parts():
            for v in part.outputs:
                last = v.offset + sum((n - 1) * s for n, s in zip(v.shape, v.strides))
                assert 0 in v.shape or (last + 1) * traces.ITEM[v.dtype] <= part.buffers[v.buffer].bytes
