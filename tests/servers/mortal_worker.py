#!/usr/bin/env python3
"""A worker that ends when a job says so.

Started as monkeys-worker is, with frames on descriptor 3. A job's payload has
"do": "die" ends the process, anything else is answered: with the sidecar of the
job's task where it has one. Every job is written to the file `jobs` in the folder
of --home before anything is done with it.
"""

import json
import os
import socket
import sys

peer = socket.socket(fileno=3).makefile("rwb")


def tell(kind: str, name: str, payload: bytes) -> None:
    peer.write(f"monkeys/1 {kind} {name} 0 {len(payload)}\n".encode() + payload)
    peer.flush()


tell("ready", "-", b"{}")
while line := peer.readline():
    _, kind, name, _, size = line.split()
    payload = peer.read(int(size))
    if kind != b"job":
        continue
    job = json.loads(payload)
    with open(os.path.join(sys.argv[sys.argv.index("--home") + 1], "jobs"), "a") as f:
        f.write(job.get("name", job.get("kind")) + "\n")
    if job.get("do") == "die":
        os._exit(1)
    sidecar = job.get("task", {}).get("sidecar")
    tell("answer", name.decode(), json.dumps(sidecar).encode() if sidecar else payload)
