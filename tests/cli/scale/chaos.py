"""Breaks things while runs go on, and looks whether they come to the same in the end.

    chaos.py WORK FAULTS SEED

A run verifies with a worker that connects through a proxy of this program. At random
moments something is broken; who was killed is started again, as a person would. Each
run must end with the tables of the undisturbed one. The same seed breaks the same
things in the same order after the same waits (what cannot be hit at that moment is left out).
Only what has really happened counts. From MANY faults on each kind must have happened, and
what the programs said and stored must show it.

WORK has `real.jsonl` and `four/starter` (tests/cli/run/lib.sh). The environment may
have MONKEYS and MONKEYS_PYTHON.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import glob
import os
import random
import re
import select
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
MONKEYS = os.environ.get("MONKEYS", str(ROOT / "monkeys"))
ANSWERS = f"{sys.executable} -ES {ROOT}/tests/cli/run/answers.py"
HEARTBEAT_S = 3
RUN_S = 600  # for a run with its faults, on a machine that is busy
MANY = 100
A_RUN, A_FEW = (3, 12), (15, 30)  # faults in a run, of MANY or of fewer
APART_S = 20  # between kills of a worker's processes: a job that is killed twice has crashed
SMALL = 4 << 20  # bytes of the disk that fills up
FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
# What the programs say when it happens to them.
SAID = {
    "a lost connection": "the connection ended|Connection reset|Broken pipe",
    "a silent worker": "no sign of life",
    "a full disk": "disk is full|No space left",
}
SETTINGS = ["--dsl", "c-cpu", "--device", "cpu", "--children", "1"]


class Proxy:
    """Passes bytes between a worker and the run, until it is cut."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.target = 0
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            near, _ = self.listening.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.target), 5)
            except OSError:
                near.close()
                continue
            self.pairs.append((near, far))
            threading.Thread(target=self.carry, args=(near, far), daemon=True).start()

    def carry(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                for one in select.select([near, far], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        raise OSError
                    (far if one is near else near).sendall(data)
        for one in (near, far):
            one.close()

    def cut(self) -> bool:
        """True: there was something to cut."""
        done = False
        for pair in self.pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                    done = True
        self.pairs = []
        return done


def descendants(pid: int, own: str = "") -> dict[int, tuple[str, str]]:
    """Their command lines, and those of their parents."""
    found: dict[int, tuple[str, str]] = {}
    below = ""
    with contextlib.suppress(OSError):
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    for child in map(int, below.split()):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            name = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            found |= {child: (name, own), **descendants(child, name)}
    return found


def is_judge(own: str, parent: str) -> bool:
    return "judge.py" in own and "judge.py" not in parent


def is_zygote(own: str, parent: str) -> bool:
    return "zygote.py" in own and "zygote.py" not in parent


def is_candidate(own: str, parent: str) -> bool:
    """What a zygote has forked, or what it started to run a kernel."""
    return "zygote.py" in parent or "monkeys-runner" in own


class Run:
    def __init__(self, work: Path, number: int, proxy: Proxy, dice: random.Random) -> None:
        self.work, self.proxy, self.dice = work, proxy, dice
        self.dir = work / f"disk{number}" / "run"
        self.dir.parent.mkdir()
        self.small = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "none", self.dir.parent],
            check=False, capture_output=True,
        ).returncode == 0  # fmt: skip
        self.clock = work / "clock"
        self.port = socket.create_server(("127.0.0.1", 0)).getsockname()[1]
        self.main: subprocess.Popen | None = None
        self.worker: subprocess.Popen | None = None
        self.log = (work / f"log{number}").open("a+")
        self.broken: list[str] = []
        self.seen: Counter[str] = Counter()
        self.killed_below = 0.0

    # ---- who works ----

    def start_main(self) -> None:
        self.clock.write_text("+0")
        env = {
            "PATH": os.environ["PATH"], "HOME": str(self.work),
            "LD_PRELOAD": FAKETIME[0] if FAKETIME else "", "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            **{k: v for k, v in os.environ.items() if k == "MONKEYS_PYTHON"},
        }  # fmt: skip
        slow = f"sh -c 'sleep 0.3; unset LD_PRELOAD; exec {ANSWERS} command real.jsonl asked'"
        argv = [MONKEYS, "resume", str(self.dir)]
        if not (self.dir / "run.ini").exists():
            argv = [
                MONKEYS, "run", *SETTINGS, "--tasks", "four/starter", "--attempts", "2", "--batch",
                "2", "--verifier", f"tcp=127.0.0.1:{self.port}", "--launcher", "none",
                "--heartbeat", str(HEARTBEAT_S), "--command", slow, "--out", str(self.dir),
            ]  # fmt: skip
            subprocess.run(["rm", "-rf", self.dir], check=True)
        self.proxy.target = self.port
        self.main = subprocess.Popen(
            argv, cwd=self.work, env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )

    def start_worker(self) -> None:
        key = self.dir / "worker.key"
        if not key.exists():
            return
        argv = [
            str(ROOT / "monkeys-worker"), "--connect", f"127.0.0.1:{self.proxy.port}", "--key",
            str(key), "--children", "1", "--retry", "600",
        ]  # fmt: skip
        self.worker = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def tend(self) -> bool:
        """Starts again what has ended; true when the run is done."""
        assert self.main
        status = self.main.poll()
        if status == 0:
            return True
        if status is not None:
            self.start_main()
        if self.worker is None or self.worker.poll() is not None:
            self.start_worker()
        return False

    def end(self) -> None:
        for process in (self.main, self.worker):
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                process.wait()
        if self.small:
            subprocess.run(["umount", "-l", self.dir.parent], check=False)

    # ---- faults ----

    def hit(self, process: subprocess.Popen | None, signo: int) -> bool:
        if not process or process.poll() is not None:
            return False
        process.send_signal(signo)
        return True

    def hit_below(self, is_it: Callable[[str, str], bool], patience_s: float = 0) -> bool:
        """One of the worker's processes, as soon as there is one."""
        until = time.monotonic() + patience_s
        if time.monotonic() < self.killed_below + APART_S:
            return False
        while self.worker and self.worker.poll() is None:
            found = [p for p, names in descendants(self.worker.pid).items() if is_it(*names)]
            with contextlib.suppress(ProcessLookupError):
                if found:
                    os.kill(max(found), signal.SIGKILL)
                    self.killed_below = time.monotonic()
                    return True
            if time.monotonic() >= until:
                return False
            time.sleep(0.005)
        return False

    def freeze(self) -> bool:
        if not self.hit(self.worker, signal.SIGSTOP):
            return False
        time.sleep(HEARTBEAT_S + 1.5)
        return self.hit(self.worker, signal.SIGCONT)

    def cut(self) -> bool:
        return self.proxy.cut()

    def lock(self) -> bool:
        if not (self.dir / "run.db").exists():
            return False
        with contextlib.suppress(sqlite3.Error):
            db = sqlite3.connect(self.dir / "run.db", timeout=0.2)
            db.execute("BEGIN IMMEDIATE")
            time.sleep(1)
            db.rollback()
            db.close()
            return True
        return False

    def fill(self) -> bool:
        if not self.small:
            return False
        filler = self.dir.parent / "filler"
        full = False
        try:
            with filler.open("wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 4096)
        except OSError as e:
            full = e.errno == errno.ENOSPC
        time.sleep(1)
        filler.unlink(missing_ok=True)
        return full

    def jump(self) -> bool:
        if not FAKETIME or not self.main or self.main.poll() is not None:
            return False
        self.clock.write_text(self.dice.choice(["+3600", "-3600", "+86400", "-86400"]))
        return True

    def break_something(self) -> str:
        """What was broken; "" if it could not be."""
        how, weights = list(FAULTS), [weight for weight, _ in FAULTS.values()]
        name = self.dice.choices(how, weights)[0]
        return name if FAULTS[name][1](self) else ""

    # ---- what is seen of them ----

    def print_log(self) -> None:
        self.log.seek(0)
        print("\n".join(self.log.read().splitlines()[-80:]))

    def evidence(self) -> Counter[str]:
        """What the programs said, and times in the store that nobody's clock has shown."""
        self.log.seek(0)
        said = self.log.read()
        seen = Counter({name: len(re.findall(what, said)) for name, what in SAID.items()})
        db = sqlite3.connect(self.dir / "run.db")
        times = "SELECT judged_at FROM verdict_time UNION ALL SELECT answered_at FROM call"
        off = [t for (t,) in db.execute(times) if t and abs(t / 1e6 - time.time()) > 1800 + RUN_S]
        db.close()
        seen["rows of another time"] = len(off)
        return seen


# How often, and how.
FAULTS: dict[str, tuple[int, Callable[[Run], bool]]] = {
    "kill the run": (3, lambda r: r.hit(r.main, signal.SIGKILL)),
    "stop the run": (1, lambda r: r.hit(r.main, signal.SIGTERM)),
    "kill the worker": (1, lambda r: r.hit(r.worker, signal.SIGKILL)),
    "kill the judge": (1, lambda r: r.hit_below(is_judge)),
    "kill a zygote": (4, lambda r: r.hit_below(is_zygote, 3)),
    "kill a candidate": (6, lambda r: r.hit_below(is_candidate, 5)),
    "freeze the worker": (1, Run.freeze),
    "cut the network": (3, Run.cut),
    "lock the database": (2, Run.lock),
    "fill the disk": (2, Run.fill),
    "turn the clock": (2, Run.jump),
}


def tables(run: Path) -> str:
    argv = [*shlex.split(ANSWERS), "tables", str(run)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def undisturbed(work: Path) -> str:
    argv = [MONKEYS, "run", *SETTINGS, "--tasks", "four/starter", "--attempts", "2", "--batch", "2",
            "--cassette", "real.jsonl", "--out", "calm"]  # fmt: skip
    subprocess.run(argv, cwd=work, check=True, capture_output=True)
    return tables(work / "calm")


def disturbed(run: Run, most: int) -> str:
    """A run with up to `most` faults: its tables."""
    dice = run.dice
    until = time.monotonic() + RUN_S
    run.start_main()
    try:
        while not run.tend():
            assert time.monotonic() < until, "the run does not end"
            time.sleep(dice.uniform(0.1, 1.5))
            if len(run.broken) < most and (name := run.break_something()):
                run.broken.append(name)
                run.log.write(f"# broken: {name}\n")
                run.log.flush()
        run.seen = run.evidence()
        return tables(run.dir)
    except AssertionError:
        run.print_log()
        raise
    finally:
        run.end()


def main() -> int:
    work, faults, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    dice, proxy = random.Random(seed), Proxy()
    done: Counter[str] = Counter(dict.fromkeys(FAULTS, 0))
    seen: Counter[str] = Counter()
    want = undisturbed(work)
    runs = 0
    while done.total() < faults:
        run = Run(work, runs, proxy, dice)
        most = dice.randint(*(A_RUN if faults >= MANY else A_FEW))
        got = disturbed(run, min(faults - done.total(), most))
        runs += 1
        done.update(run.broken)
        seen += run.seen
        if got != want:
            print(f"seed {seed}, run {runs}: after {run.broken} the tables differ:")
            print(*difflib.unified_diff(want.splitlines(), got.splitlines(), lineterm=""), sep="\n")
            run.print_log()
            return 1
    print(f"seed {seed}: {done.total()} faults in {runs} runs:", dict(done))
    print("seen of them:", dict(seen))
    if faults < MANY:
        return 0
    missing = [name for name in done if not done[name]] + [
        name for name in [*SAID, "rows of another time"] if not seen[name]
    ]
    if missing:
        print("but none of this happened:", ", ".join(missing))
    return 1 if missing else 0


sys.exit(main())
