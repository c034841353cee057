"""What the judge does with a candidate's words: whatever they are, they are an
answer or a forgery, and never an error of the judge's."""

from __future__ import annotations

import array
import copy
import json
import os
import socket
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker")]

from judge import answers, feedback  # noqa: E402
from judge.steps import Forged  # noqa: E402
from shared.frames import Broken, Channel, Closed  # noqa: E402

ERROR = {"error": {"stage": "call", "type": "ValueError", "text": "…", "compile": False,
                   "message": "ValueError: no", "rule": None, "elsewhere": False}}  # fmt: skip
READERS = [
    (answers.problem, ERROR),
    (answers.refusal, {"refused": {"rule": "dispatch:aten.mm", "text": "mm computes"}}),
    (lambda answer: answers.names(answer, ["fc.weight"]), {"names": [["w", "fc.weight"]]}),
    (answers.announced_identity, {"identity": "triton 3.7"}),
    (answers.announced_target, {"target": "sm_90"}),
    (lambda answer: answers.announced_size(answer, 100), {"size": 7}),
]
ODD = [None, True, -1, 10**400, float("nan"), float("inf"), "text", "\ud800\0", [], [[[]]], {},
       {"a": {"b": []}}, [None, 1, "x", {}], "x" * 100000]  # fmt: skip


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Paths to every part of a JSON value, the whole excepted."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, part in items:
        found.append((*path, key))
        if isinstance(part, (dict, list)):
            found += places(part, (*path, key))
    return found


def changed(value: dict, path: tuple, by: object, remove: bool = False) -> dict:
    value = copy.deepcopy(value)
    at: object = value
    for key in path[:-1]:
        at = at[key]
    if remove:
        del at[path[-1]]
    else:
        at[path[-1]] = by
    return value


@pytest.mark.parametrize(("read", "good"), READERS, ids=["problem", "refusal", "names", "identity", "target", "size"])
def test_any_other_value_in_any_place_is_taken_or_is_a_forgery(read, good) -> None:
    read(good)
    for path in places(good):
        for odd in ODD:
            try:
                read(changed(good, path, odd))
            except Forged:
                pass
        try:
            read(changed(good, path, None, remove=True))
        except Forged:
            pass


@pytest.mark.parametrize("odd", [-1, 101, 10**400, "7", None, True, 7.0, float("nan"), [7]])
def test_a_size_lies_in_the_memory_that_is_there_for_it(odd: object) -> None:
    with pytest.raises(Forged):
        answers.announced_size({"ok": True, "size": odd}, 100)


@pytest.mark.parametrize("names", [[["w", "another"]], [["w"]], [["w", "fc.weight", 1]], {"w": "fc.weight"},
                                   [[1, "fc.weight"]], [["w", ["fc.weight"]]]])  # fmt: skip
def test_a_state_means_one_of_the_references_names(names: object) -> None:
    with pytest.raises(Forged):
        answers.names({"names": names}, ["fc.weight"])


def test_what_is_told_at_length_is_cut() -> None:
    long = "x" * 1000000
    found = answers.problem(changed(ERROR, ("error", "text"), long))
    assert len(found.text) == answers.ERROR
    assert len(answers.announced_identity({"identity": long})) == answers.TEXT


# ---- the channel ---------------------------------------------------------------


@pytest.fixture
def ends() -> tuple[Channel, socket.socket]:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


def framed(message: dict) -> bytes:
    data = json.dumps(message).encode()
    return len(data).to_bytes(4, "little") + data


def test_half_a_message_waits_for_its_rest(ends) -> None:
    channel, theirs = ends
    data = framed({"ok": True})
    for byte in data[:-1]:
        theirs.send(bytes([byte]))
        channel.fill()
        assert channel.message(100) is None
    theirs.send(data[-1:])
    channel.fill()
    assert channel.message(100) == {"ok": True}


def test_nothing_there_is_no_wait(ends) -> None:
    channel, _ = ends
    channel.fill()
    assert channel.message(100) is None


@pytest.mark.parametrize("data", [
    b"\xff\xff\xff\xff", b"\x02\0\0\0[]", b"\x01\0\0\0{", b"\x04\0\0\0\xff\xfe\xfd\xfc",
    (100000).to_bytes(4, "little") + b"[" * 100000,
])  # fmt: skip
def test_what_is_no_message_is_broken(ends, data: bytes) -> None:
    channel, theirs = ends
    theirs.setblocking(False)
    with pytest.raises(Broken):
        while True:
            data = data[theirs.send(data) :] if data else data
            channel.fill()
            channel.message(1 << 20)


def test_descriptors_that_come_along_are_dropped(ends) -> None:
    channel, theirs = ends
    before = len(os.listdir("/proc/self/fd"))
    fds = array.array("i", [theirs.fileno()] * 100)
    theirs.sendmsg([framed({"ok": True})], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    channel.fill()
    assert channel.message(100) == {"ok": True}
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_peer_that_does_not_read_holds_nobody_up(ends) -> None:
    channel, _ = ends
    for _ in range(100):
        channel.put({"source": "x" * 100000}, [0])
    channel.flush()
    assert channel.outgoing


def test_a_long_message_arrives_with_its_descriptor_once(ends) -> None:
    channel, theirs = ends
    channel.put({"source": "x" * 1000000}, [0])
    got, fds, left = b"", [], None
    while left is None or len(got) < left:
        channel.flush()
        data, some, _, _ = socket.recv_fds(theirs, 1 << 16, 4)
        got, fds = got + data, fds + some
        left = 4 + int.from_bytes(got[:4], "little")
    assert json.loads(got[4:]) == {"source": "x" * 1000000}
    assert len(fds) == 1
    os.close(fds[0])


def test_a_closed_connection_is_told(ends) -> None:
    channel, theirs = ends
    theirs.close()
    with pytest.raises(Closed):
        channel.fill()


# ---- the feedback ------------------------------------------------------------------


def test_feedback_is_plain_whatever_the_text_is() -> None:
    text = feedback.from_error("call", "\0\ud800\x1b[2J /tmp/candidate_7.py 0xdeadbeef\n\tx")
    assert text == "forward raised an exception.\n??[2J candidate.py 0x…\n\tx".replace("??", "???")


@pytest.mark.parametrize("unit", ["/", "/a", "/a.", "candidate_", "0x", "candidate_1/", "a/"])
def test_no_text_keeps_the_cleaning_busy(unit: str) -> None:
    """A pattern that looks back would be at it for hours."""
    assert len(feedback.from_error("call", unit * (1000000 // len(unit)))) <= 4000
