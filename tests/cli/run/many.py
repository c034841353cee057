"""A run of 10,000 tasks with 5 attempts, killed ten times: its memory, and whether its tables are
those of the same run when nobody kills it.

    many.py [TASKS [ATTEMPTS [KILLS [SEED]]]]

The model is a server on the loopback interface whose answer follows from the prompt alone. One task
in 200 gets a right program, which the worker verifies on the CPU; the others get programs that the
static rules refuse, or none, so that attempts are paid for, stored and learned from, but take little
time. Tasks are not checked first (--force). Prints one JSON object; the exit status is 1 if the
tables differ. A part of `make test-long`; with other numbers it is quicker."""

import asyncio
import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import answers

ROOT = Path(__file__).resolve().parents[3]
RIGHT_EVERY = 200


def make_tasks(folder: Path, count: int) -> None:
    """Programs of several kinds, each with sizes of its own."""
    folder.mkdir()
    starters = [p.read_text() for p in sorted((ROOT / "tasks/starter").glob("*.py"))]
    starters = [t for t in starters if re.search(r"^batch_size = \d+$", t, re.M)]
    swish = (ROOT / "tasks/starter/01_swish.py").read_text()
    for k in range(count):
        text = swish if k % RIGHT_EVERY == 7 else starters[k % len(starters)]
        text = re.sub(r"^batch_size = \d+$", f"batch_size = {k + 1}", text, flags=re.M)
        if text.startswith(swish[:40]) and k % RIGHT_EVERY == 7:
            text = re.sub(r"^(dim|num_features) = \d+$", r"\1 = 5", text, flags=re.M)
        (folder / f"{k:05}_task.py").write_text(text)


def reply(prompt: str) -> str:
    task = prompt.rpartition("<task_to_be_optimized>")[2].partition("</task_to_be_optimized>")[0]
    if "<implementation_plan>" not in prompt:
        return "One loop over all elements; each is read once and written once."
    number = int(re.search(r"^batch_size = (\d+)$", task, re.M)[1]) - 1
    draw = hashlib.sha256(prompt.encode()).digest()
    letter = "r" if number % RIGHT_EVERY == 7 and draw[0] < 128 else "ns"[draw[1] % 2]
    return answers.answer("starter/01_swish", "code", letter, draw[2])


async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(re.search(rb"content-length: *(\d+)", head, re.I)[1])
            asked = json.loads(await reader.readexactly(size))
            text = reply(asked["messages"][-1]["content"])
            body = json.dumps({
                "choices": [{"index": 0, "finish_reason": "stop",
                             "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": size // 4, "completion_tokens": len(text) // 4},
            }).encode()  # fmt: skip
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                         b"content-length: %d\r\n\r\n" % len(body) + body)  # fmt: skip
            await writer.drain()
    writer.close()


def serve(port: multiprocessing.Queue) -> None:
    async def main() -> None:
        server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


class Runs:
    def __init__(self, work: Path, port: int, attempts: int) -> None:
        self.work, self.peak = work, 0
        self.words = [
            "--tasks", "many", "--force", "--dsl", "c-cpu", "--device", "cpu", "--no-timing",
            "--attempts", str(attempts), "--batch", "1000", "--in-flight", "32", "--seed", "1",
            "--base-url", f"http://127.0.0.1:{port}/v1", "--model", "mock", "--price", "0,0",
        ]  # fmt: skip

    def start(self, folder: str, seconds: float | None) -> bool:
        """Starts or resumes a run; kills it after so long. True: it has ended by itself."""
        there = (self.work / folder / "run.db").exists()
        words = ["resume", folder] if there else ["run", "--out", folder, *self.words]
        log = (self.work / f"{folder}.log").open("ab")
        p = subprocess.Popen([ROOT / "monkeys", *words], cwd=self.work, stdout=log, stderr=log)
        end = time.monotonic() + seconds if seconds is not None else float("inf")
        while p.poll() is None and time.monotonic() < end:
            self.look(p.pid)
            time.sleep(0.05)
        if p.poll() is None:
            p.kill()
            p.wait()
            return False
        if p.returncode != 0:
            sys.exit(f"{words[0]}: exit status {p.returncode}; see {log.name}")
        return True

    def look(self, pid: int) -> None:
        with contextlib.suppress(OSError, TypeError):
            status = Path(f"/proc/{pid}/status").read_text()
            self.peak = max(self.peak, int(re.search(r"VmHWM:\s*(\d+)", status)[1]) // 1024)

    def tables(self, folder: str) -> tuple[int, str]:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            answers.tables(str(self.work / folder))
        text = out.getvalue()
        return text.count("\n"), hashlib.sha256(text.encode()).hexdigest()


def measure(work: Path, tasks: int, attempts: int, kills: int, seed: int) -> dict:
    make_tasks(work / "many", tasks)
    address: multiprocessing.Queue = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(address,), daemon=True)
    server.start()
    runs = Runs(work, address.get(), attempts)
    began = time.monotonic()
    runs.start("whole", None)
    seconds, alone = time.monotonic() - began, runs.peak
    runs.peak, killed, moments = 0, 0, random.Random(seed)
    while killed < kills and not runs.start("killed", moments.uniform(0, 2 * seconds / kills)):
        killed += 1
    runs.start("killed", None)
    rows, first = runs.tables("whole")
    same = (rows, first) == runs.tables("killed")
    status = subprocess.run([ROOT / "monkeys", "status", "--json", "whole"], cwd=work,
                            capture_output=True, text=True, check=True).stdout  # fmt: skip
    server.terminate()
    return {"tasks": tasks, "attempts": attempts, "rows": rows, "seconds": round(seconds, 1),
            "peak_mb": alone, "kills": killed, "peak_mb_resumed": runs.peak, "same": same,
            "database_mb": round((work / "whole/run.db").stat().st_size / 1e6, 1),
            "status": json.loads(status), "cores": os.cpu_count(),
            "load": os.getloadavg()[0]}  # fmt: skip


def main() -> int:
    given = [int(word) for word in sys.argv[1:]]
    tasks, attempts, kills, seed = given + [10_000, 5, 10, 1][len(given) :]
    work = Path(tempfile.mkdtemp(prefix="many-"))
    found = measure(work, tasks, attempts, kills, seed)
    print(json.dumps(found))
    if found["same"]:
        shutil.rmtree(work)
    return 0 if found["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
