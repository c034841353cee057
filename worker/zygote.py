"""The zygote: imports torch and one pack's language once, then forks a boxed child for each
use. It never runs candidate code and never touches CUDA.

    record      children that record or compile: no data and no device
    interpret   children that interpret kernels over the judge's region
    runner      children that become monkeys-runner; nothing is imported
    direct      children that run a candidate beside the data (packs without a recorder)
    decompose   children that take a task apart, or run a task or one of its pieces; no pack

Started by monkeys-worker with its control socket as descriptor 3:
    python zygote.py --home DIR --pack DIR --device cpu|cuda:N --box full|thin|none
                     --scratch DIR --uid N --mode MODE --gpu-node PATH

CUDA_VISIBLE_DEVICES names the one GPU, or none; the worker has set it.
"""

import argparse
import contextlib
import ctypes
import gc
import hashlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path

from shared import adapter as interface
from shared import unfit
from shared.adapter import Adapter
from shared.frames import CONTROL
from shared.processes import descendants

GIB = 1 << 30
MODES = ("record", "interpret", "runner", "direct", "decompose")
# Which folders of worker/ each box shows: those of its own side, and what all sides share.
SIDES = {"record": ["recorder", "compiler", "shared"], "interpret": ["executor", "shared"],
         "direct": ["direct", "shared"], "runner": [],
         "decompose": ["decompose", "shared"]}  # fmt: skip
ON_DEVICE = ("runner", "direct")  # whose children see the GPU, where there is one
# Libraries ask who runs them and keep files for them: torch fails to import parts of itself where
# the user has no name. Names of folders, which every box gets under its own.
USER = "monkeys"
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TORCH_COMPILE_DEBUG_DIR", "TORCH_EXTENSIONS_DIR",
          "TRITON_CACHE_DIR")  # fmt: skip
PR_SET_DUMPABLE = 4  # of prctl
# What stands for pack.json where there is no pack: the children run no language's code.
NO_PACK = {"id": "decompose", "env": {"vars": {}, "cache_vars": []}, "run": {}}
USERS = 1024  # user ids from the first one on that children take turns in
KEPT = ("PATH", "LANG", "CCACHE_DISABLE", "OMP_NUM_THREADS", "CUDA_DEVICE_MAX_CONNECTIONS",
        "PYTORCH_NVML_BASED_CUDA_CHECK", "CUDA_VISIBLE_DEVICES")  # of the environment, in a child  # fmt: skip


def zygote_options() -> argparse.Namespace:
    p = argparse.ArgumentParser()
    p.add_argument("--home", required=True)
    p.add_argument("--pack", required=True)
    p.add_argument("--device", required=True)
    p.add_argument("--box", choices=("full", "thin", "none"), required=True)
    p.add_argument("--scratch", required=True)
    p.add_argument("--uid", type=int, default=61000)
    p.add_argument("--mode", choices=MODES, default="record")
    p.add_argument("--gpu-node", default="")
    return p.parse_args()


def language_variables(pack: dict, o: argparse.Namespace) -> dict[str, str]:
    """What the language reads from its environment."""
    values = dict(pack["env"]["vars"])
    if o.mode == "interpret":
        values |= pack["env"].get("interpret_vars", {})
    return {name: value.replace("${pack}", o.pack) for name, value in values.items()}


def set_environment(pack: dict, o: argparse.Namespace) -> None:
    """Before anything is imported."""
    os.environ.update(language_variables(pack, o))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("LOGNAME", USER)  # a container's user has no name either
    os.environ.setdefault("CCACHE_DISABLE", "1")  # its folder is in a home that no box has
    if o.mode in ON_DEVICE:
        # torch.cuda.is_available() must not create a context in this process.
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        # A context with one hardware queue instead of eight is made in a third of the
        # time, and a trace has one stream.
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # nothing here has a device


def load_adapter(pack_dir: str) -> Adapter:
    """The pack's trusted adapter.py; every pack that verifies has one."""
    path = os.path.join(pack_dir, "adapter.py")
    spec = importlib.util.spec_from_file_location("pack_adapter", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["pack_adapter"] = module
    spec.loader.exec_module(module)
    return module


def pack_identity(adapter: Adapter, pack_dir: str) -> str:
    """Of all that compiling depends on besides what is compiled: the language, as the adapter
    says, and the pack's own code."""
    parts = [adapter.identity().encode()]
    parts += [path.read_bytes() for path in sorted(Path(pack_dir).glob("*.py"))]
    return hashlib.sha256(b"".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


def check_adapter(adapter: Adapter, mode: str, language: str | None) -> None:
    """What will be called must be there."""
    missing = interface.missing(adapter, mode, language)
    if missing:
        raise SystemExit(f"{adapter.__file__} has no function {' or '.join(missing)}")


# ---- the box's policy ----------------------------------------------------------


def existing_parts(path: str) -> list[str]:
    """Lines of a policy that make `path` reachable: what it really is, and the links on the way."""
    at = "/"
    for name in Path(os.path.abspath(path)).parts[1:]:
        at = os.path.join(at, name)
        if os.path.islink(at):
            rest = os.path.relpath(os.path.abspath(path), at)
            to = os.path.join(os.path.dirname(at), os.readlink(at), rest)
            return [f"link {at}", *existing_parts(to)]
    return [f"ro {at}"]


def library_folders(o: argparse.Namespace) -> list[str]:
    """Where libraries lie that candidates import. What PYTHONPATH names and what is already in use
    must be readable in the box; what else Python looks through is left out if it is not. Folders
    that hold the harness, or where the box has its own, are never shown as a whole."""
    own = os.path.realpath(os.path.join(o.home, "worker"))
    used = [folder for name, module in list(sys.modules.items()) if "." not in name
            for folder in getattr(module, "__path__", ())]  # fmt: skip
    needed = [p for p in [*os.environ.get("PYTHONPATH", "").split(":"), *used] if p]
    found = needed + [p for p in sys.path if p and os.path.exists(p) and is_open(p, o.uid)]
    hidden = [own, "/tmp", "/dev", "/proc"]
    return [
        path
        for path, real in ((p, os.path.realpath(p)) for p in map(os.path.abspath, found))
        if not is_inside(real, own) and not any(is_inside(h, real) for h in hidden)
    ]


def is_open(path: str, uid: int) -> bool:
    """Whether the box's user can read it: this process's own, or one that nothing belongs to."""
    steps = [path, *Path(os.path.realpath(path)).parents]
    return os.access(path, os.R_OK) if not uid else all(os.stat(p).st_mode & 1 for p in steps)


def is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def policy_text(o: argparse.Namespace, root: str, cuda: bool) -> str:
    """docs: src/worker/box.h. Paths that are not there are left out."""
    lines = [f"level {o.box}", f"root {root}", f"tmp {4 * GIB}"]
    visible = ["/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/alternatives",
               "/etc/ld.so.cache", "/opt", o.pack, sys.prefix, sys.base_prefix, *o.folders]  # fmt: skip
    visible += library_folders(o) if o.mode != "runner" else []
    visible += [os.path.join(o.home, "worker", side) for side in SIDES[o.mode]]
    seen: set[str] = set()
    for path in visible:
        if not os.path.exists(path):
            continue
        for line in existing_parts(path):
            kind, _, real = line.partition(" ")
            inside = any(real.startswith(s + "/") for s in seen if kind == "ro")
            if real not in seen and not inside:
                lines.append(line)
                seen.add(real)
    if o.mode == "runner":
        lines += existing_parts(o.runner)
    devices = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"]
    if cuda:
        devices += ["/dev/nvidiactl", "/dev/nvidia-uvm", o.gpu_node]
    lines += [f"dev {d}" for d in devices if os.path.exists(d)]
    lines.append("proc write" if cuda else "proc read")
    lines += ["limit nproc 256", "limit nofile 512", f"limit fsize {4 * GIB}"]
    return "\n".join(lines) + "\n"


def mapped_bytes() -> int:
    """The size of this process's address space."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")


class Box:
    def __init__(self, o: argparse.Namespace) -> None:
        self.level = o.box
        self.cuda = o.device != "cpu" and o.mode in ON_DEVICE
        self.root = os.path.join(o.scratch, "root")
        os.makedirs(self.root, mode=0o755, exist_ok=True)
        self.text = policy_text(o, self.root, self.cuda)
        self.mapped = mapped_bytes()  # which every child starts with
        self.library = ctypes.CDLL(os.path.join(o.home, "libmonkeys-box.so"))

    def _step(self, name: str, policy: str) -> None:
        why = ctypes.create_string_buffer(1024)
        if getattr(self.library, name)(policy.encode(), why, len(why)) < 0:
            os.write(2, b"box: " + why.value + b"\n")
            os._exit(125)

    def policy(self, uid: int, memory: int, cgroup: str, scratch: str) -> str:
        extra = f"uid {uid}\n"
        if self.level == "thin":
            extra += f"scratch {scratch}\n"
        if cgroup:
            extra += f"cgroup {cgroup}\n"
        if memory and not self.cuda:
            extra += f"limit as {self.mapped + memory + 2 * GIB}\n"
        return self.text + extra

    def outer(self, policy: str) -> None:
        if self.level != "none":
            self._step("box_outer", policy)

    def inner(self, policy: str) -> None:
        if self.level != "none":
            self._step("box_inner", policy)


# ---- children ----------------------------------------------------------------


def become_child(sock: socket.socket, adapter: Adapter | None, o: argparse.Namespace,
                 pack: dict, folder: str) -> None:  # fmt: skip
    """In the box, from here on: private caches, then serve."""
    home = "/tmp" if o.box == "full" else folder
    if o.mode == "runner":
        become_runner(sock, o)
    for name in {*CACHES, *pack["env"]["cache_vars"]}:
        path = os.path.join(home, "cache-" + name.lower())
        os.makedirs(path, exist_ok=True)
        os.environ[name] = path
    os.environ["HOME"] = os.environ["TMPDIR"] = home
    tempfile.tempdir = None  # it remembers what the zygote's was
    os.chdir(home)
    if o.mode == "decompose":
        from decompose import serve

        serve.Pieces(sock, home).serve()
        return
    from shared import child

    adapter.child(o.mode)
    device = "cuda:0" if o.device != "cpu" and o.mode in ON_DEVICE else "cpu"
    target = pack["run"].get("target")
    child.Child(sock, adapter, home, device, o.identity, target).serve()


def become_runner(sock: socket.socket, o: argparse.Namespace) -> None:
    os.dup2(sock.fileno(), CONTROL)
    os.set_inheritable(CONTROL, True)
    device = "cpu" if o.device == "cpu" else "cuda"
    os.execv(o.runner, [o.runner, "--device", device])


def close_others(keep: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in keep and int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass


def stand_by(inner: int, first: int | None) -> None:
    """The outer process's work: waits for the candidate and ends as it did. Told
    to end (SIGTERM) it kills the candidate first; the signal is blocked until
    here. So whoever reaps this process knows that all of the box is gone."""
    pidfd = os.pidfd_open(inner)  # its pid may be another's by then

    def end(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    status = os.waitpid(inner, 0)[1]
    if first is not None:
        os.close(first)
    end_orphans()
    die_like(status)


def end_orphans() -> None:
    """What a candidate left running. In a full box its pid namespace took all
    with it; else every process of the box descends from this one, to which
    orphans come. All are stopped before one is killed: none can fork meanwhile."""
    stopped: set[int] = set()
    while True:
        found = set(descendants(os.getpid()))
        fresh = found - stopped
        for pid in fresh or found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if fresh else signal.SIGKILL)
        stopped |= fresh
        try:
            while os.waitpid(-1, os.WNOHANG if found else 0)[0]:
                pass
        except ChildProcessError:
            return


def start_first(sock_fd: int) -> int:
    """Starts process 1 of the pid namespace, and returns what ends it when it is closed. No signal
    from inside ends or stops process 1, so it is not the candidate, whose signals to itself shall do
    what they do elsewhere. Orphans come to it."""
    ours, theirs = os.pipe()
    if os.fork():
        os.close(ours)
        return theirs
    os.close(theirs)
    os.close(sock_fd)
    for number, action in ((signal.SIGCHLD, signal.SIG_IGN), (signal.SIGINT, signal.SIG_IGN)):
        signal.signal(number, action)  # reaped by the kernel; Python would raise
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # its memory is nobody's
    os.read(ours, 1)
    os._exit(0)


def die_like(status: int) -> None:
    """Ends as the inner process did, so that the parent sees the same."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    signal.signal(-code, signal.SIG_DFL) if -code not in (9, 19) else None
    os.kill(os.getpid(), -code)
    os._exit(128 - code)


class Zygote:
    def __init__(self, o: argparse.Namespace) -> None:
        self.o = o
        self.control = socket.socket(fileno=CONTROL)
        os.set_inheritable(CONTROL, False)
        self.pack = NO_PACK
        if o.mode != "decompose":
            self.pack = json.loads(Path(o.pack, "pack.json").read_text())
        set_environment(self.pack, o)
        tempfile.tempdir = o.scratch  # goes with the worker, however this process ends
        self.adapter, o.folders = None, []
        o.runner = os.path.realpath(os.path.join(o.home, "monkeys-runner"))
        if o.mode == "runner":
            if not os.access(o.runner, os.X_OK):
                raise SystemExit(f"there is no {o.runner}; `make worker` builds it")
        else:
            gc.disable()  # nothing that is imported is garbage
            self.import_language()
        gc.freeze()  # children never look at what was there before them
        gc.enable()
        self.box = Box(o)
        self.children: dict[int, tuple[str, int]] = {}  # pid: (id, pidfd)

    def import_language(self) -> None:
        """Once, for all children."""
        import torch

        torch.set_num_threads(1)  # before any work: forked children would hang
        if self.o.mode == "decompose":
            from decompose import serve  # noqa: F401

            return
        self.adapter = load_adapter(self.o.pack)
        check_adapter(self.adapter, self.o.mode, self.pack.get("language"))
        self.adapter.prepare(self.o.mode)
        self.o.folders = self.adapter.folders()
        self.o.identity = pack_identity(self.adapter, self.o.pack)
        from shared import child  # noqa: F401

        if self.o.mode == "direct":
            from direct import beside  # noqa: F401
        if self.o.mode == "record":
            from recorder import recorder

            recorder.warm()

    def run(self) -> None:
        from shared.frames import Broken, Frame, recv_frame, send_frame

        version = self.adapter.version() if self.adapter else ""
        facts = {"pack": self.pack["id"], "dsl": version, "box": self.o.box}
        send_frame(self.control, Frame("ready", payload=json.dumps(facts).encode()))
        while True:
            fds = [self.control.fileno()] + [fd for _, fd in self.children.values()]
            ready, _, _ = select.select(fds, [], [])
            self.reap(send_frame, Frame)
            if self.control.fileno() not in ready:
                continue
            try:
                frame = recv_frame(self.control)
            except Broken:
                return
            if frame.kind == "fork":
                self.fork(frame, send_frame, Frame)

    def fork(self, frame, send_frame, Frame) -> None:
        sock_fd, output_fd = frame.fds
        memory, _, cgroup = frame.text().partition(" ")
        folder = os.path.join(self.o.scratch, frame.id)
        uid = self.user(frame.id)
        if self.o.box != "full":
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if uid and self.o.box == "thin":
                os.chown(folder, uid, uid)
        pid = os.fork()
        if pid == 0:
            try:
                policy = self.box.policy(uid, int(memory or 0), cgroup, folder)
                self.child(sock_fd, output_fd, policy, folder)
            except BaseException as problem:  # noqa: BLE001
                os.write(2, f"zygote child: {unfit.explained(problem)}\n".encode()[:2000])
                # Here: `problem` holds the socket. Once that is closed the judge has us killed,
                # and our status would be that of a process that somebody killed.
                os._exit(126)
            os._exit(126)
        os.close(sock_fd)
        os.close(output_fd)
        pidfd = os.pidfd_open(pid)
        self.children[pid] = (frame.id, pidfd)
        send_frame(self.control, Frame("forked", frame.id, 0, str(pid).encode(), [pidfd]))

    def user(self, name: str) -> int:
        """Limits that the kernel counts by user are no other candidate's business. 0: there
        is no other user than this one."""
        number = name.rpartition("-")[2]
        return self.o.uid and self.o.uid + (int(number) % USERS if number.isdigit() else 0)

    def child(self, sock_fd: int, output_fd: int, policy: str, folder: str) -> None:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output_fd, 1)
        os.dup2(output_fd, 2)
        close_others({sock_fd})
        self.box.outer(policy)
        first = start_first(sock_fd) if self.o.box == "full" else None
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        inner = os.fork()
        if inner:
            os.close(sock_fd)
            stand_by(inner, first)
        if first is not None:
            os.close(first)
        os.setsid()  # what it sends to its process group does not reach the keeper
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        self.box.inner(policy)
        keep = {k: os.environ[k] for k in KEPT if k in os.environ}
        if self.o.box == "full" and keep.get("CUDA_VISIBLE_DEVICES", "").isdigit():
            keep["CUDA_VISIBLE_DEVICES"] = "0"  # a number, not a UUID: of the nodes there are
        os.environ.clear()
        os.environ.update(keep | language_variables(self.pack, self.o))
        os.environ["USER"] = os.environ["LOGNAME"] = USER
        become_child(socket.socket(fileno=sock_fd), self.adapter, self.o, self.pack, folder)
        os._exit(0)

    def reap(self, send_frame, Frame) -> None:
        import shutil

        while self.children:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid not in self.children:
                continue
            name, pidfd = self.children.pop(pid)
            os.close(pidfd)
            folder = os.path.join(self.o.scratch, name)
            if self.o.box != "full":
                shutil.rmtree(folder, ignore_errors=True)
            code = os.waitstatus_to_exitcode(status)
            text = f"exit {code}" if code >= 0 else f"signal {-code}"
            # The keeper has waited for all of its box: the largest of them counts.
            text += f"\n{used.ru_maxrss * 1024}"
            send_frame(self.control, Frame("exited", name, 0, text.encode()))


def main() -> None:
    o = zygote_options()
    sys.path.insert(1, o.pack)  # after worker/
    with unfit.reported():
        zygote = Zygote(o)
    zygote.run()


if __name__ == "__main__":
    main()
