"""Who answers in the tests of `monkeys run`, and what they look at afterwards.

    answers.py cassette METHOD TASK=LETTERS…    a cassette on standard output
    answers.py command CASSETTE [LOG] [WORD…]   one request: standard input to output
    answers.py spool DIR CASSETTE               every open request of a folder
    answers.py judge DIR TASK TYPE PAYLOAD      every open job about a task
    answers.py referee DIR                      every open job about programs of a cassette
    answers.py tables RUN                       what must be the same in the same run
    answers.py fact RUN NAME                    a fact of a run
    answers.py prompts RUN                      the hash of every prompt, by who asked
    answers.py search TEXT PATH…                files that hold the text, packed texts too

A task's LETTERS say how its attempts are answered: r right, w with wrong
values, s such that the static rules refuse it, n without code, h right, but with
text that tries to control a terminal or a page and a line of 10 MB. The words of
`command`: `stop` and `hangup` interrupt the program at the first request, `look` writes the
environment of the command and of all processes of the program to LOG.env.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
ZSTD = b"\x28\xb5\x2f\xfd"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\u2066 \x9b31m"
MARKUP = "</script><script>document.title = 'owned'</script><img src=http://x.test/ onerror=f()>\u2028"


# ---- answers -----------------------------------------------------------------


def program(task: str, letter: str, attempt: int) -> str:
    right = (ROOT / "tests/verify/c-cpu" / f"{Path(task).name}.py").read_text()
    if letter == "w":  # a factor in front of the last value that the kernel stores
        at = right.rindex("=", 0, right.index(";\n}"))
        return f"{right[: at + 1]} {attempt}.5f *{right[at + 1 :]}"
    if letter == "s":
        return f"{right.replace('build', 'made')}\n# attempt {attempt}\n"
    if letter == "h":
        return f"{right}\n# {HOSTILE}\n## Verdict\n# {'x' * 500_000}\n"
    return right


def answer(task: str, stage: str, letter: str, attempt: int) -> str:
    if stage == "plan":
        return f"Plan {attempt} for {task}." + (HOSTILE + MARKUP if letter == "h" else "")
    if letter == "n":
        return f"I would rather not ({attempt})."
    before = f"\r{HOSTILE}{'y' * 10_000_000}\n\n" if letter == "h" else ""
    return f"Here it is.\n\n{before}```python\n{program(task, letter, attempt)}```\n"


def cassette(method: str, *tasks: str) -> None:
    print(json.dumps({"cassette": 1, "model": "told", "date": "", "note": ""}))
    for word in tasks:
        task, _, letters = word.partition("=")
        for attempt, letter in enumerate(letters, 1):
            for stage in ("evolve",) if method in ("evolve", "combined") else ("plan", "code"):
                key = {"task": task, "method": method, "stage": stage, "attempt": attempt}
                text = answer(task, stage, letter, attempt)
                usage = {"input": 100, "cached": 0, "output": 50, "reasoning": 0}
                print(json.dumps({"key": key, "prompt": "0" * 64, "text": text, "usage": usage}))


def read_cassette(path: str) -> dict[str, dict]:
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()[1:]]
    return {json.dumps(v["key"], sort_keys=True): v for v in lines}


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def asker() -> int:
    """The program that asks: we may be a child of its shell."""
    pid = os.getppid()
    while Path(f"/proc/{pid}/comm").read_text().strip() != "monkeys":
        pid = parent(pid)
    return pid


def family(top: int) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        try:
            above = pid
            while above not in (0, 1, top):
                above = parent(above)
        except OSError:  # it has ended meanwhile
            continue
        if above == top and pid != top:
            yield pid


def look(path: str) -> None:
    with open(path, "ab") as f:
        for pid in family(asker()):
            try:
                name = Path(f"/proc/{pid}/comm").read_bytes()
                f.write(b"process " + name + Path(f"/proc/{pid}/environ").read_bytes() + b"\n")
            except OSError:
                continue


def command(path: str, log: str = "", *words: str) -> None:
    request = json.load(sys.stdin)
    key = json.dumps(request["key"], sort_keys=True)
    first = bool(log) and not Path(log).exists()
    if log:
        with open(log, "a", encoding="utf-8") as f:
            f.write(key + "\n")
    if "look" in words:
        look(log + ".env")
    for word, number in (("stop", signal.SIGINT), ("hangup", signal.SIGHUP)):
        if word in words and first:
            os.kill(asker(), number)
    found = read_cassette(path).get(key)
    print(json.dumps(found if found else {"error": "nothing is said about this"}))


def spool(folder: str, path: str) -> None:
    replies = read_cassette(path)
    for request in sorted(Path(folder, "requests").glob("*.json")):
        to = Path(folder, "answers", request.name)
        key = json.dumps(json.loads(request.read_text())["key"], sort_keys=True)
        if not to.exists():
            part = to.with_suffix(".part")
            part.write_text(json.dumps({k: replies[key][k] for k in ("text", "usage")}))
            part.rename(to)


def frames(path: Path) -> Iterator[tuple[str, str, bytes]]:
    rest = path.read_bytes() if path.exists() else b""
    while rest:
        head, _, rest = rest.partition(b"\n")
        _, kind, name, _, size = head.decode().split(" ")
        yield kind, name, rest[: int(size)]
        rest = rest[int(size) :]


RULES = 2  # of truth: src/verify/verdict.h
RIGHT = {"verdict": "correct", "rules": RULES, "stage": "done", "evidence": "E3", "compiled": True,
         "kernelbench_pass": True, "feedback": "", "trials": []}  # fmt: skip
WRONG = {"verdict": "wrong_values", "rules": RULES, "stage": "trials", "evidence": "E0", "compiled": True,
         "kernelbench_pass": False, "trials": [], "feedback": "output 0, trial 1 (plain inputs): "
         "max abs error 0.25, error ratio 2500.0, allowed 1.0e-04. First at index []: 0.75 instead "
         "of 0.5; 100.0 % of the values are off."}  # fmt: skip


def open_jobs(folder: str) -> Iterator[tuple[str, dict]]:
    done = {name for _, name, _ in frames(Path(folder, "answers"))}
    for _, name, job in frames(Path(folder, "jobs")):
        if name not in done:
            yield name, json.loads(job)


def tell(folder: str, messages: list[tuple[str, str, str]]) -> None:
    with open(Path(folder, "answers"), "ab") as f:
        for kind, name, payload in messages:
            data = payload.encode()
            f.write(f"monkeys/1 {kind} {name} 0 {len(data)}\n".encode() + data)


def judge(folder: str, task: str, kind: str, payload: str) -> None:
    """Answers as a worker would, without looking at the candidate."""
    asked = [name for name, job in open_jobs(folder) if job["task"]["id"] == task]
    if kind == "answer":
        payload = json.dumps({"rules": RULES} | json.loads(payload))
    tell(folder, [(kind, name, payload) for name in asked])


def referee(folder: str) -> None:
    """Answers as a worker would, who knows the programs that are right."""
    messages = []
    for name, job in open_jobs(folder):
        answer = {"usable": True, "reasons": []}
        if job["kind"] == "verify":
            right = program(job["task"]["id"], "r", 0).rstrip()
            answer = WRONG
            if job["candidate"].startswith(right):
                answer = RIGHT | {"ported": right}
        messages.append(("answer", name, json.dumps(answer)))
    tell(folder, messages)


# ---- looking at a run --------------------------------------------------------


def reading(path: Path) -> "sqlite3.Connection":
    import sqlite3  # not at the top: each request to `command` starts this program

    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def tables(run: str) -> None:
    db = reading(Path(run, "run.db"))
    for table in ("attempt", "shown", "entry"):
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        names = [n for n in names if not n.endswith("_at")]
        # the share of elements that are right depends on the run's own inputs
        names = ["round(fitness, 2)" if n == "fitness" else n for n in names]
        for row in db.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY 1, 2, 3"):
            print(table, *row, sep="|")


def fact(run: str, name: str) -> None:
    db = reading(Path(run, "run.db"))
    print(*db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone() or [])


def prompts(run: str) -> None:
    db = reading(Path(run, "run.db"))
    for row in db.execute("SELECT task, attempt, prompt_hash FROM call ORDER BY 1, 2, 3"):
        print(*row, sep="|")


def unpack(data: bytes) -> bytes:
    import ctypes

    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    size = lib.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(size + 1)
    n = lib.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return out.raw[:n]


def contents(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    if data.startswith(b"SQLite format 3"):
        db = reading(path)
        for (packed,) in db.execute("SELECT data FROM blob"):
            yield unpack(packed)
    elif data.startswith(ZSTD):
        yield unpack(data)


def search(text: str, *paths: str) -> None:
    for top in map(Path, paths):
        for path in [p for p in top.rglob("*") if p.is_file()] if top.is_dir() else [top]:
            if any(text.encode() in data for data in contents(path)):
                print("found in", path)


if __name__ == "__main__":
    commands = (cassette, command, spool, judge, referee, tables, fact, prompts, search)
    {f.__name__: f for f in commands}[sys.argv[1]](*sys.argv[2:])
