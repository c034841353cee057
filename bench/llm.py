"""Questions to a model that answers after one second, 64, 256 and 1,000 in flight:
how near the rate comes to the ideal one, and what a call costs.

    python3 bench/llm.py BUILD_FOLDER [--python]

A call that is answered is followed by the next one, ROUNDS for each place in flight, so the
ideal is IN_FLIGHT calls a second. The ratio is of the whole run, from the first question to the
last answer: all questions of the first round are asked at once, each on a connection that is
opened for it, and that burst of processor time is counted, as a run of the program pays it once,
too. Beside it stands the rate from the end of the first round to the end of the last.

The server is bench/llm_server.c, a process of its own on the same machine: one in Python takes as
long for an answer as the program takes for a call, and would be measured instead. What it costs is
told, too: a machine with a core for each of the two measures the program.
With --python the server is tests/llm/server.py.
Memory is our own resident memory a call in flight: the 8 KB question is a part of it.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROMPT = 8192
ANSWER = 2048
ROUNDS = 20


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(program: Path, url: str, server: int, in_flight: int, how: str) -> None:
    calls = in_flight * ROUNDS
    model = f"bench+delay=1+text={ANSWER}"
    argv = [program, url, model, str(in_flight), str(calls), str(PROMPT), how]
    start = cpu_s(server)
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    theirs = (cpu_s(server) - start) / calls * 1e3
    answer = json.loads(done.stdout)
    assert answer["failed"] == 0 and answer["answered"] == calls, answer
    rate = calls / answer["wall_s"]
    warm = (calls - in_flight) / answer["warm_s"]
    print(f"  {in_flight:5} in flight, {how:6}: {rate:7.1f} calls/s of {in_flight}, "
          f"ratio {rate / in_flight:.3f}, after the first round {warm / in_flight:.3f}; "
          f"{answer['cpu_ms']:.3f} ms CPU a call (the server {theirs:.3f}); "
          f"{answer['kb']:.1f} KB a call in flight")  # fmt: skip


def main() -> None:
    program = Path(sys.argv[1]) / "bench-llm"
    argv = [Path(sys.argv[1]) / "bench-llm_server", "1000", str(ANSWER)]
    if "--python" in sys.argv:
        argv = ["/usr/bin/python3", ROOT / "tests/llm/server.py"]
    pipe = subprocess.PIPE
    server = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True)
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        print(f"bench/llm: {ROUNDS} rounds, questions of {PROMPT} bytes, answers of {ANSWER} "
              f"after 1 s, {platform.machine()}")  # fmt: skip
        for how in ("whole", "stream"):
            for in_flight in (64, 256, 1000):
                measure(program, url, server.pid, in_flight, how)
    finally:
        server.kill()
        server.wait()


main()
