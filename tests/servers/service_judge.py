"""A judge that does what its jobs say: it stands in for worker/judge/judge.py where a test is
about what monkeys-worker does for a judge.

A job's payload is {"steps": [STEP, …]}; the answer has what each step heard. A STEP is

    ["say", KIND, ID, DEADLINE, TEXT]   a frame to the worker
    ["hear", KIND, ID]                  the next frame about ID, which must be of that kind:
                                        its text
    ["ask", ID]                         whether the runner that is ID's child answers
    ["close", ID]                       the connection to ID's child
    ["die", FILE]                       this process ends, unless FILE says that one has
"""

import json
import os
import socket
import struct
import sys

sys.path[0] = os.path.dirname(sys.path[0])  # as judge.py does

from shared.frames import CONTROL, Broken, Frame, recv_frame, send_frame  # noqa: E402

UNLOAD = struct.pack("<IQ", 8, 3)  # docs/RUNNER.md
ANSWER_BYTES = 4 + 2088

control = socket.socket(fileno=CONTROL)
children: dict[str, socket.socket] = {}
heard: list[Frame] = []
jobs: list[Frame] = []


def take() -> None:
    frame = recv_frame(control)
    if frame.kind == "ping":
        send_frame(control, Frame("pong"))
    elif frame.kind == "job":
        jobs.append(frame)
    else:
        if frame.kind == "child":
            children[frame.id] = socket.socket(fileno=frame.fds[0])
        heard.append(frame)


def hear(kind: str, name: str) -> str:
    while not (found := [frame for frame in heard if frame.id == name]):
        take()
    heard.remove(found[0])
    if found[0].kind != kind:
        return f"{found[0].kind} instead of {kind}: {found[0].text()}"
    return found[0].text()


def ask(name: str) -> bool:
    try:
        children[name].sendall(UNLOAD)
        data = children[name].recv(ANSWER_BYTES, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(data) == ANSWER_BYTES and data[4:12] == bytes(8)


def step(what: str, *words: object) -> object:
    if what == "say":
        kind, name, deadline, text = words
        send_frame(control, Frame(kind, name, deadline, text.encode()))
        return None
    if what == "close":
        return children.pop(words[0]).close()
    if what == "die":
        if os.path.exists(words[0]):
            return None
        open(words[0], "w").close()
        os._exit(0)
    return {"hear": hear, "ask": ask}[what](*words)


send_frame(control, Frame("ready", payload=b"{}"))
try:
    while True:
        while not jobs:
            take()
        job = jobs.pop(0)
        answers = [step(*words) for words in json.loads(job.payload)["steps"]]
        send_frame(control, Frame("answer", job.id, 0, json.dumps({"answers": answers}).encode()))
except Broken:
    pass
