"""monkeys-runner on the CPU: moves against torch's own, libraries, what it refuses."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from runner_client import ROOT, Client, Region, memory, name

from judge import runner
from judge.runner import Status
from shared.program import ITEM, Add, Call, Copy, Fill, Function, Launch, Module, Number, Param, Place, Program
from shared.program import Pointer, Struct, TensorMap

FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
PAIRS = [(a, b) for a in ITEM for b in ITEM if not (a in FLOATS and b not in FLOATS)]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client() as started:
        yield started


@pytest.fixture
def region() -> Iterator[Region]:
    made = Region()
    yield made
    made.close()


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal to the bit; a NaN equals any NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    bits_a, bits_b = (t.contiguous().reshape(-1, 1).view(torch.uint8) for t in (a, b))
    equal = (bits_a == bits_b).all(1)
    if a.is_floating_point():
        equal |= a.float().isnan().flatten() & b.float().isnan().flatten()
    return bool(equal.all())


def awkward(dtype: str) -> torch.Tensor:
    """Every bit pattern of small types; edges, ties and random ones of large types."""
    t = getattr(torch, dtype)
    if dtype == "bool":
        return torch.tensor([False, True])
    size = ITEM[dtype]
    if size <= 2:
        return torch.arange(256**size, dtype=torch.int64).to((torch.uint8, torch.uint16)[size - 1]).view(t)
    generator = torch.Generator().manual_seed(7)
    patterns = torch.randint(-(2**63), 2**63 - 1, (40000,), generator=generator)
    if dtype not in FLOATS:
        small = torch.arange(-300, 300)
        powers = torch.tensor([2**k + d for k in range(62) for d in (-1, 0, 1)])
        return torch.cat([patterns, patterns >> 30, small, powers, -powers]).to(t)
    # Near every number of the small types: itself, ties, and one bit to either side.
    halves = torch.arange(65536, dtype=torch.int64).to(torch.uint16)
    bases = torch.cat([halves.view(torch.float16).float(), halves.view(torch.bfloat16).float()])
    integer = torch.int32 if dtype == "float32" else torch.int64
    bases = bases.to(t).view(integer)
    steps = [0, 1, -1]
    steps += [1 << k for k in ((12, 15, 19, 20) if dtype == "float32" else (29, 41, 44, 48, 49))]
    near = torch.cat([bases + s for s in steps])
    return torch.cat([near.view(t), patterns.to(integer).view(t)])


@pytest.mark.parametrize(("source", "to"), PAIRS, ids=lambda d: d)
def test_a_cast_is_what_torch_makes_of_it(client: Client, source: str, to: str) -> None:
    values = awkward(source)
    region = Region(values.numel() * (ITEM[source] + ITEM[to]) + 4096)
    place = region.put(values)
    out = region.empty(getattr(torch, to), tuple(values.shape))
    assert client.do(region, Copy(out, place)).status == Status.DONE
    if (source, to) == ("float64", "float16"):
        values = values.float()  # torch does so itself, except on aarch64
    assert same(region.tensor(out), values.to(getattr(torch, to)))
    region.close()


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


VIEWS = {
    "as it is": numbers(5, 7, 3),
    "transposed": numbers(5, 7, 3).permute(2, 0, 1),
    "every second": numbers(8, 9)[::2, 1::3],
    "expanded": numbers(1, 6, 1).expand(4, 6, 5),
    "one number everywhere": torch.tensor(3.5).expand(7, 3),
    "a number": torch.tensor(2.5),
    "nothing": numbers(4, 0, 3),
    "a diagonal": numbers(6, 6).diagonal(),
    "overlapping windows": numbers(20).unfold(0, 8, 3),
    "dimensions of one": numbers(1, 5, 1, 4, 1),
    "16 dimensions": numbers(*([2] * 16)).permute(*reversed(range(16))),
}


@pytest.mark.parametrize("to", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_copy_follows_strides(client: Client, region: Region, view: str, to: str) -> None:
    source = VIEWS[view]
    out = region.empty(getattr(torch, to), tuple(source.shape))
    assert client.do(region, Copy(out, region.put(source))).status == Status.DONE
    assert torch.equal(region.tensor(out), source.to(getattr(torch, to)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int16, torch.bool])
def test_a_copy_goes_backwards(client: Client, region: Region, dtype: torch.dtype) -> None:
    source = (numbers(6, 5, 4) % 3).to(dtype)
    p = region.put(source)
    flipped = Place(p.at + (5 * 20 + 3) * source.element_size(), p.dtype, p.shape, (-20, 4, -1))
    out = region.empty(dtype, p.shape)
    assert client.do(region, Copy(out, flipped)).status == Status.DONE
    assert torch.equal(region.tensor(out), source.flip(0, 2))


def test_a_copy_writes_between_what_is_there(client: Client, region: Region) -> None:
    whole = region.put(torch.zeros(6, 8))
    part = Place(whole.at + 4, "float32", (3, 4), (16, 2))
    source = numbers(3, 4) + 1
    assert client.do(region, Copy(part, region.put(source))).status == Status.DONE
    want = torch.zeros(6, 8)
    want[::2, 1::2] = source
    assert torch.equal(region.tensor(whole), want)


def test_moves_touch_nothing_else(client: Client) -> None:
    region = Region()
    out = region.empty(torch.bfloat16, (7, 9))
    source = region.put(numbers(9, 7).t())
    before = region.bytes.clone()
    client.do(region, Copy(out, source), Fill(Place(out.at, "bfloat16", (), ()), 1.0))
    changed = (region.bytes != before).nonzero().flatten()
    assert changed.min() >= out.at
    assert changed.max() < out.at + 7 * 9 * 2
    region.close()


@pytest.mark.parametrize("dtype", list(ITEM))
def test_a_fill_is_what_torch_fills_with(client: Client, region: Region, dtype: str) -> None:
    t = getattr(torch, dtype)
    values = [0, 1] + ([1.7, -0.3, float("nan")] if dtype in FLOATS else [])
    values += [float("-inf")] if dtype in FLOATS and dtype != "float8_e4m3fn" else []
    for value in values + ([-5, 100] if dtype.startswith("int") else []):
        out = region.empty(t, (3, 5))
        turned = Place(out.at, dtype, (5, 3), (1, 5))
        assert client.do(region, Fill(turned, value)).status == Status.DONE
        assert same(region.tensor(out), torch.full((3, 5), value, dtype=t))


def test_a_fill_of_nothing_does_nothing(client: Client, region: Region) -> None:
    before = region.bytes.clone()
    assert client.do(region, Fill(Place(0, "int64", (3, 0), (9, 9)), 5)).status == Status.DONE
    assert torch.equal(region.bytes, before)


@pytest.mark.parametrize("dtype", [d for d in ITEM if d not in FLOATS and d != "bool"])
def test_a_counter_counts_and_wraps(client: Client, region: Region, dtype: str) -> None:
    t = getattr(torch, dtype)
    counter = region.put(torch.full((1,), torch.iinfo(t).max, dtype=t))
    assert client.do(region, Add(counter, 1), Add(counter, 2), Add(counter, -1)).status == Status.DONE
    # Two beyond the largest number is the second smallest.
    assert region.tensor(counter).item() == torch.iinfo(t).min + 1


def test_a_number_that_an_element_cannot_hold_is_refused_by_the_judge() -> None:
    with pytest.raises(ValueError, match="uint8"):
        runner.encode(Program((), (), ((Fill(Place(0, "uint8", (), ()), 300),),)))


# ---- libraries ----

LIBRARY = r"""
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
static void scale_kernel(const float *x, float *out, int n, float by)
{ for (int i = 0; i < n; i++) out[i] = by * x[i]; }
void scale(const uint64_t *w)
{
    float by;
    memcpy(&by, &w[3], sizeof(by));
    scale_kernel((const float *)w[0], (float *)w[1], (int)w[2], by);
}
void crash(const uint64_t *w) { *(volatile int *)0 = (int)w[0]; }
void leave(const uint64_t *w) { _exit((int)w[0]); }
/* Each leaves 0 in w[0] when the system let it. */
#define SAY(ok) (*(int64_t *)w[0] = (ok) ? 0 : errno)
void forks(const uint64_t *w)
{
    pid_t p = fork();
    if (p == 0)
        _exit(0);
    SAY(p > 0);
}
void execs(const uint64_t *w)
{ char *a[] = {"true", NULL}; execv("/bin/true", a); SAY(0); }
void maps_code(const uint64_t *w)
{ SAY(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED); }
void makes_code(const uint64_t *w)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SAY(p != MAP_FAILED && mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
}
void opens(const uint64_t *w) { SAY(open("/proc/self/mem", O_RDWR) >= 0); }
void rewrites_itself(const uint64_t *w)
{
    errno = 0;
    for (int fd = 4; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0 || pwrite(fd, "x", 1, 4096) == 1)
            { SAY(1); return; }
    for (int fd = 4; fd < 64; fd++)
        if (write(fd, "x", 1) == 1)
            { SAY(1); return; }
    errno = EPERM;
    SAY(0);
}
void makes_a_file(const uint64_t *w) { SAY(memfd_create("x", 0) >= 0); }
static void *work(void *p) { return p; }
void starts_a_thread(const uint64_t *w)
{
    pthread_t t;
    errno = pthread_create(&t, NULL, work, NULL);
    SAY(errno == 0);
}
void waits(const uint64_t *w) { SAY(usleep(1) == 0); }
void ends_the_runner(const uint64_t *w)
{
    errno = 0;
    SAY(kill((pid_t)w[1], SIGKILL) == 0 || syscall(SYS_tgkill, w[1], w[1], SIGKILL) == 0);
}
/* How often it finds something of an earlier call, in the places that a process has. */
static int calls, *block;
void remembers(const uint64_t *w)
{
    volatile char deep[65536];
    char *page = mmap((void *)0x7000000000, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    int *found = malloc(4096), kept = calls++ > 0;

    kept += found[64] == 4711 || (block && *block == 4711) || deep[7] == 47;
    kept += *page == 47 || getenv("KEPT") || feof(stdin);
    found[64] = 4711, deep[7] = *page = 47;
    block = malloc(64), *block = 4711;
    free(found);
    setenv("KEPT", "1", 1);
    fgetc(stdin);
    *(int64_t *)w[0] = kept;
}
/* A processor for 20 ms, on every machine. */
void works(const uint64_t *w)
{
    clock_t until = clock() + CLOCKS_PER_SEC / 50;
    while (clock() < until)
        continue;
    *(int64_t *)w[0] = 1;
}
void stops(const uint64_t *w) { *(int64_t *)w[0] = 7; raise(SIGSTOP); *(int64_t *)w[0] = 8; }
void allocates(const uint64_t *w)
{
    char *p = malloc(64 << 20);
    memset(p, 1, 64 << 20);
    *(int64_t *)w[0] = p[12345];
    free(p);
}
"""


def build(folder: Path, *flags: str) -> bytes:
    source, out = folder / "k.c", folder / "k.so"
    source.write_text(LIBRARY)
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-pthread", *flags, "-o", out, source], check=True
    )
    return out.read_bytes()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Module:
    return Module("library", build(tmp_path_factory.mktemp("library")))


WHOLE = ((0, 1 << 20),)  # of a fixture's region


def one_call(module: Module, function: str, *params: Pointer | Number) -> Program:
    return Program((module,), (Function(0, function),), ((Call(0, params, WHOLE),),))


def scaling(region: Region, module: Module) -> tuple[Program, Place]:
    x, out = region.put(numbers(100)), region.empty(torch.float32, (100,))
    by = int.from_bytes(torch.tensor([2.5]).view(torch.uint8).numpy().tobytes(), "little")
    call = Call(0, (Pointer(x.at), Pointer(out.at), Number(4, 100), Number(4, by)), WHOLE)
    return Program((module,), (Function(0, "scale"),), ((call,), (Fill(out, 9.0), call))), out


def test_a_library_computes_over_the_region(region: Region, library: Module) -> None:
    program, out = scaling(region, library)
    with Client() as client:
        assert client.load(program, region).status == Status.DONE
        done = client.run(timed=True)
        assert done.status == Status.DONE
        assert done.host_ns > 0
    assert torch.equal(region.tensor(out), 2.5 * numbers(100))


def test_a_muted_run_moves_and_calls_nothing(region: Region, library: Module) -> None:
    program, out = scaling(region, library)
    with Client() as client:
        client.load(program, region)
        assert client.run(1, mute=True).status == Status.DONE
        assert torch.equal(region.tensor(out), torch.full((100,), 9.0))
        assert client.run(1).status == Status.DONE
        assert torch.equal(region.tensor(out), 2.5 * numbers(100))


PEEK = """
void peek(const unsigned long *w) { *(volatile char *)w[0] += *(volatile char *)w[1]; }
"""


def test_a_call_sees_the_pages_that_it_names_and_moves_see_all(region: Region, tmp_path: Path) -> None:
    (tmp_path / "peek.c").write_text(PEEK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "peek.so", tmp_path / "peek.c"], check=True)
    first, second, third = (Place(at, "uint8", (4096,), (1,)) for at in (0, 8192, 16384))

    def peek(at: int, *pages: int) -> Call:
        return Call(0, (Pointer(first.at), Pointer(at)), tuple((page, page + 4096) for page in pages))

    fills = Fill(first, 1), Fill(second, 2), Fill(third, 3)
    calls = [
        (*fills, peek(8192, 0, 8192), Fill(second, 5), peek(16384, 0, 16384), peek(16385, 0, 16384)),
        *((*fills, peek(at, 0, 8192)) for at in (4096, 8191, 12288, 16384, 1 << 20)),
        (*fills, peek(8192, 8192)), (*fills, peek(8192, 0, 8192), peek(8192, 0)), (peek(8192),),
    ]  # fmt: skip
    module = Module("library", (tmp_path / "peek.so").read_bytes())
    with Client() as client:
        client.load(Program((module,), (Function(0, "peek"),), tuple(calls)), region)
        for timed in (False, True):
            assert client.run(0, timed=timed).status == Status.DONE
            assert region.bytes[[0, 1, 8192, 16384]].tolist() == [9, 1, 5, 3]
            for i in range(1, len(calls)):
                assert client.run(i, timed=timed).text in ("signal 11", "signal 7"), i


def test_two_libraries_have_functions_of_one_name(
    region: Region, library: Module, tmp_path: Path
) -> None:
    other = tmp_path / "o.c"
    other.write_text("void scale(const unsigned long *w) { *(long *)w[0] = 77; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "o.so", other], check=True)
    program, out = scaling(region, library)
    seen = region.empty(torch.int64, (1,))
    both = Program(
        (library, Module("library", (tmp_path / "o.so").read_bytes())),
        (Function(0, "scale"), Function(1, "scale")),
        ((*program.calls[0], Call(1, (Pointer(seen.at),), WHOLE)),),
    )
    with Client() as client:
        assert client.load(both, region).status == Status.DONE
        assert client.run().status == Status.DONE
    assert region.tensor(seen).item() == 77
    assert torch.equal(region.tensor(out), 2.5 * numbers(100))


@pytest.mark.parametrize(
    "function",
    "forks execs maps_code makes_code opens rewrites_itself makes_a_file starts_a_thread waits "
    "ends_the_runner".split(),
)
def test_a_library_cannot(region: Region, library: Module, function: str) -> None:
    seen = region.put(torch.tensor([-1]))
    with Client() as client:
        words = Pointer(seen.at), Number(8, client.process.pid)
        assert client.load(one_call(library, function, *words), region).status == Status.DONE
        assert client.run().status == Status.DONE
    assert region.tensor(seen).item() == 1  # EPERM


def test_a_library_has_memory(region: Region, library: Module) -> None:
    seen = region.put(torch.tensor([-1]))
    with Client() as client:
        client.load(one_call(library, "allocates", Pointer(seen.at)), region)
        assert client.run().status == Status.DONE
    assert region.tensor(seen).item() == 1


def test_nothing_of_a_call_is_left_for_the_next(region: Region, library: Module) -> None:
    seen = region.put(torch.tensor([-1]))
    with Client() as client:
        client.load(one_call(library, "remembers", Pointer(seen.at)), region)
        for timed in (False, True, True):
            assert client.run(timed=timed).status == Status.DONE
            assert region.tensor(seen).item() == 0


@pytest.mark.parametrize(
    ("function", "number", "how"), [("crash", 1, "signal 11"), ("leave", 0, "exit 0"), ("leave", 3, "exit 3")]
)
def test_a_call_that_ends_its_process_is_told_and_the_runner_goes_on(
    region: Region, library: Module, function: str, number: int, how: str
) -> None:
    program, out = scaling(region, library)
    ends = Call(1, (Number(8, number),))
    both = Program((library,), (*program.functions, Function(0, function)), (program.calls[0], (ends,)))
    with Client() as client:
        assert client.load(both, region).status == Status.DONE
        done = client.run(1)
        assert (done.status, done.text) == (Status.CALL_ENDED, how)
        assert client.run(0).status == Status.DONE
    assert torch.equal(region.tensor(out), 2.5 * numbers(100))


def test_a_library_that_stops_its_process_does_not_go_on(region: Region, library: Module) -> None:
    seen = region.put(torch.tensor([-1]))
    with Client() as client:
        client.load(one_call(library, "stops", Pointer(seen.at)), region)
        for _ in range(2):
            assert client.run().status == Status.DONE
            assert region.tensor(seen).item() == 7


def test_the_time_of_a_call_is_that_of_its_work(region: Region, library: Module) -> None:
    """Nothing is done ahead of it or afterwards, and it counts until all of it stands."""
    seen = region.put(torch.tensor([-1]))
    with Client() as client:
        client.load(one_call(library, "works", Pointer(seen.at)), region)
        for _ in range(2):
            before = time.monotonic_ns()
            done = client.run(timed=True)
            assert 20_000_000 <= done.host_ns <= time.monotonic_ns() - before
            assert region.tensor(seen).item() == 1


IN_A_BOX = """
import ctypes, os, sys
box, program, *command = sys.argv[1:]
box, text = ctypes.CDLL(box), ctypes.create_string_buffer(1024)
if box.box_outer(program.encode(), text, 1024) < 0:
    sys.exit(text.value)
pid = os.fork()
if pid == 0:
    if box.box_inner(program.encode(), text, 1024) < 0:
        os.write(2, text.value)
        os._exit(125)
    os.execv(command[0], command)
os.close(3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize("level", ["full", "thin"])
def test_libraries_load_and_compute_in_the_box(
    region: Region, library: Module, tmp_path: Path, level: str
) -> None:
    program = (ROOT / "monkeys-runner").resolve()
    visible = ["/usr", "/lib", "/lib64", "/bin", str(program)]
    lines = [f"level {level}", f"root {tmp_path}", "tmp 1000000000", "uid 61000", "proc read"]
    for path in filter(os.path.lexists, visible):
        lines += [f"link {path}"] if os.path.islink(path) else [f"ro {path}"]
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    start = ["/usr/bin/python3", "-c", IN_A_BOX, str(ROOT / "libmonkeys-box.so"), "\n".join(lines) + "\n"]
    program, out = scaling(region, library)
    with Client(before=start) as client:
        assert client.load(program, region).status == Status.DONE
        assert client.run().status == Status.DONE
        assert client.unload().status == Status.DONE
    assert torch.equal(region.tensor(out), 2.5 * numbers(100))


def test_nothing_of_torch_is_mapped(region: Region, library: Module) -> None:
    program, _ = scaling(region, library)
    with Client() as client:
        client.load(program, region)
        client.run()
        maps = Path(f"/proc/{client.process.pid}/maps").read_text()
    files = {line.split(None, 5)[5].rsplit("/", 1)[-1] for line in maps.splitlines() if "/" in line}
    allowed = r"monkeys-runner|ld-linux.*|lib(c|m|dl|pthread)[.-].*|memfd:(region|library).*"
    assert all(re.fullmatch(allowed, f) for f in files), files


def test_a_module_that_is_no_library_does_not_load(client: Client, region: Region) -> None:
    with Client() as own:
        done = own.load(one_call(Module("library", b"\x7fELF" + bytes(100)), "f"), region)
    assert done.status == Status.NO_MODULE
    assert done.text


def test_a_function_that_is_missing_is_named(region: Region, library: Module) -> None:
    with Client() as client:
        done = client.load(one_call(library, "absent"), region)
    assert done.status == Status.NO_SYMBOL
    assert "absent" in done.text


def test_a_cubin_needs_a_gpu(client: Client, region: Region) -> None:
    done = client.load(Program((Module("cubin", b"x"),), (), ()), region)
    assert done.status == Status.BAD_PROGRAM


def test_without_a_driver_every_answer_says_so() -> None:
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("this machine has a GPU")
    with Client("cuda") as client:
        for _ in range(2):
            done = client.unload()
            assert done.status == Status.NO_DEVICE
            assert "libcuda" in done.text


# ---- what it refuses ----

SIZE = 1 << 16
PLACE = Place(256, "float32", (4, 4), (4, 1))
CODE = (Module("cubin", bytes(8)), Module("library", bytes(8)))
NAMES = (Function(0, "k"), Function(1, "f"))
MAP = TensorMap(0, 7, (64, 8), (256,), (64, 8))


def launch(*params: Param, **more: object) -> Launch:
    return Launch(0, (1, 1, 1), (32, 1, 1), 0, params, **more)  # type: ignore[arg-type]


def fill(*place: object) -> Fill:
    return Fill(Place(*place), 0)  # type: ignore[arg-type]


BAD = {
    "behind the region": fill(SIZE, "float32", (1,), (1,)),
    "over its end": fill(SIZE - 4, "float32", (2,), (1,)),
    "before its start": Copy(PLACE, Place(0, "float32", (4, 4), (4, -1))),
    "an offset that is negative": fill(-256, "float32", (1,), (1,)),
    "a stride too far": fill(0, "float32", (2,), (SIZE,)),
    "a stride that overflows": fill(0, "float64", (2**20,), (2**50,)),
    "a reach that overflows": fill(0, "float64", (2**45, 3), (2**17, 2**62)),
    "a size that is negative": fill(0, "uint8", (-1,), (1,)),
    "sizes whose product overflows": fill(0, "uint8", (2**32, 2**32), (0, 0)),
    "endless work without a stride": fill(0, "uint8", (2**46, 4), (0, 0)),
    "a negative stride in a view that is written to": fill(1024, "uint8", (4,), (-1,)),
    "not aligned": fill(258, "float32", (1,), (1,)),
    "17 dimensions": fill(0, "uint8", (1,) * 17, (1,) * 17),
    "shapes that differ": Copy(PLACE, Place(0, "float32", (16,), (1,))),
    "a float becomes an integer": Copy(Place(0, "int32", (4, 4), (4, 1)), PLACE),
    "a float becomes a bool": Copy(Place(0, "bool", (4, 4), (4, 1)), PLACE),
    "a counter of floats": Add(Place(0, "float32", (1,), (1,)), 1),
    "a counter of two": Add(Place(0, "int32", (2,), (1,)), 1),
    "an unknown function": Call(2, ()),
    "a launch of a library's function": Launch(1, (1, 1, 1), (1, 1, 1), 0, ()),
    "a call of a kernel": Call(0, ()),
    "a pointer behind the region": launch(Pointer(SIZE + 1)),
    "a number of 0 bytes": launch(Number(0, 0)),
    "a number of 9 bytes": launch(Number(9, 0)),
    "a grid of 0": Launch(0, (0, 1, 1), (1, 1, 1), 0, ()),
    "a block too large for its word": Launch(0, (1, 1, 1), (2**32, 1, 1), 0, ()),
    "shared memory below 0": Launch(0, (1, 1, 1), (1, 1, 1), -1, ()),
    "a cluster of 0": launch(cluster=(1, 0, 1)),
    "a map over the end": launch(TensorMap(0, 7, (64, 300), (256,), (64, 64))),
    "a map that overflows": launch(TensorMap(0, 7, (2**32 - 1,) * 3, (2**45, 2**45), (1, 1, 1))),
    "a map of no dimensions": launch(TensorMap(0, 7, (0,), (), (1,))),
    "a map of six dimensions": launch(TensorMap(0, 7, (1,) * 6, (16,) * 5, (1,) * 6)),
    "a map of an unknown type": launch(TensorMap(0, 13, (1,), (), (1,))),
    "a map for a library": Call(1, (TensorMap(0, 7, (1,), (), (1,)),)),
    "a structure for a library": Call(1, (Struct(bytes(8), ()),)),
    "pages over the end": Call(1, (), ((0, SIZE + 4096),)),
    "half a page": Call(1, (), ((0, 2048),)),
    "pages from a page's middle": Call(1, (), ((2048, 8192),)),
    "pages twice": Call(1, (), ((0, 8192), (4096, 12288))),
    "pages out of order": Call(1, (), ((8192, 12288), (0, 4096))),
    "no pages": Call(1, (), ((4096, 4096),)),
    "a structure without bytes": launch(Struct(b"", ())),
    "a structure too large": launch(Struct(bytes(32765), ())),
    "a patch behind its bytes": launch(Struct(bytes(16), ((16, Pointer(0)),))),
    "a patch over their end": launch(Struct(bytes(12), ((8, Pointer(0)),))),
    "a patch far away": launch(Struct(bytes(16), ((2**63, Pointer(0)),))),
    "a patch that is not aligned": launch(Struct(bytes(16), ((4, Pointer(0)),))),
    "a map in a structure over its end": launch(Struct(bytes(184), ((64, MAP),))),
    "a map in a structure that is not aligned": launch(Struct(bytes(256), ((32, MAP),))),
    "patches that overlap": launch(Struct(bytes(256), ((0, MAP), (64, Pointer(0))))),
    "patches out of order": launch(Struct(bytes(16), ((8, Pointer(0)), (0, Pointer(0))))),
    "two patches at one place": launch(Struct(bytes(16), ((8, Pointer(0)), (8, Pointer(0))))),
    "a patch that points behind the region": launch(Struct(bytes(8), ((0, Pointer(SIZE + 1)),))),
    "a map in a structure that reaches out": launch(
        Struct(bytes(128), ((0, TensorMap(0, 7, (64, 300), (256,), (64, 64))),))
    ),
    "a patch that is a number": launch(Struct(bytes(8), ((0, Number(8, 0)),))),  # type: ignore
    "a structure in a structure": launch(Struct(bytes(8), ((0, Struct(bytes(8), ())),))),  # type: ignore
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_plan_is_an_answer(client: Client, what: str) -> None:
    region = Region(SIZE)
    done = client.load(Program(CODE, NAMES, ((BAD[what],),)), region)
    assert done.status == Status.BAD_PROGRAM, done
    assert "word " in done.text
    assert client.do(region, Fill(PLACE, 1.0)).status == Status.DONE
    region.close()


def whole_plan() -> bytes:
    nodes = (Fill(PLACE, 1.0), Copy(PLACE, PLACE), Add(Place(0, "int64", (1,), (1,)), 1),
             launch(Pointer(0), Number(4, 7), MAP, Struct(bytes(200), ((0, Pointer(8)), (64, MAP)))),
             Call(1, (Pointer(0), Number(8, 1)), ((0, 4096), (8192, 12288))))  # fmt: skip
    return runner.encode(Program(CODE, NAMES, (nodes, nodes)))


def test_a_plan_cut_anywhere_is_an_answer(client: Client) -> None:
    region, data = Region(SIZE), whole_plan()
    for n in range(0, len(data), 8):
        done = client.load_bytes(data[:n], region.fd, SIZE)
        assert done.status == Status.BAD_PROGRAM
    assert client.load_bytes(data[:-3], region.fd, SIZE).status == Status.BAD_PROGRAM
    assert client.load_bytes(data + bytes(8), region.fd, SIZE).status == Status.BAD_PROGRAM
    region.close()


def test_counts_without_end_are_answers(client: Client) -> None:
    region, data = Region(SIZE), whole_plan()
    for at in range(8, len(data), 8):
        for word in (2**64 - 1, 2**63, 2**40, 2**32, 2**20):
            huge = data[:at] + word.to_bytes(8, "little") + data[at + 8 :]
            done = client.load_bytes(huge, region.fd, SIZE)
            assert done.status == Status.BAD_PROGRAM, (at, word, done)
    region.close()


def test_random_bytes_are_answers(client: Client) -> None:
    region, chance = Region(SIZE), random.Random(3)
    good = whole_plan()
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(0, len(data) // 8) * 8
            word = chance.choice((chance.randrange(8), chance.randrange(1 << 20), chance.getrandbits(64)))
            data[at : at + 8] = word.to_bytes(8, "little")
        client.load_bytes(bytes(data[: chance.randrange(len(data) // 8 + 1) * 8]), region.fd, SIZE)
        client.load_bytes(b"mkprog/1" + chance.randbytes(8 * chance.randrange(40)), region.fd, SIZE)
    client.unload()
    assert client.do(region, Fill(PLACE, 1.0)).status == Status.DONE
    region.close()


def test_a_region_smaller_than_said_is_refused(client: Client, region: Region) -> None:
    data = runner.encode(Program((), (), ((Fill(PLACE, 1.0),),)))
    done = client.load_bytes(data, region.fd, region.size + 4096)
    assert done.status == Status.BAD_REQUEST
    assert client.load_bytes(data, region.fd, 0).status == Status.BAD_PROGRAM


def test_requests_that_make_no_sense_are_answers(client: Client, region: Region) -> None:
    client.unload()
    assert client.run().status == Status.BAD_REQUEST  # nothing is loaded
    assert client.ask(runner._words_of_request(9)).status == Status.BAD_REQUEST
    assert client.ask(runner._words_of_request(1, 8, 8)).status == Status.BAD_REQUEST
    program = Program((), (), ((),))
    assert client.load(program, region).status == Status.DONE
    assert client.load(program, region).status == Status.BAD_REQUEST
    assert client.run(1).status == Status.BAD_REQUEST
    assert client.ask(runner._words_of_request(2, 0, 8)).status == Status.BAD_REQUEST
    assert client.run(0).status == Status.DONE
    assert client.unload().status == Status.DONE


def test_a_length_that_makes_no_sense_ends_the_runner() -> None:
    with Client() as client:
        client.sock.sendall((1 << 30).to_bytes(4, "little") + bytes(64))
        assert client.process.wait(20) == 2


def test_descriptors_do_not_pile_up(client: Client, region: Region) -> None:
    folder = Path(f"/proc/{client.process.pid}/fd")
    before = len(list(folder.iterdir()))
    fd = memory(b"x")
    for _ in range(20):
        client.do(region, Fill(PLACE, 1.0))
        client.ask(runner.unload_request(), [fd, fd, fd, fd])
        client.ask(runner.unload_request(), [fd] * 8)
    os.close(fd)
    assert len(list(folder.iterdir())) == before


@pytest.mark.parametrize(
    "data",
    [b"", bytes(runner.ANSWER_BYTES), bytes(runner.ANSWER_BYTES - 1),
     (2088).to_bytes(4, "little") + (10).to_bytes(8, "little") + bytes(2080)],
)  # fmt: skip
def test_what_is_no_answer_raises(data: bytes) -> None:
    with pytest.raises(runner.BadAnswer):
        runner.parse_answer(data)


def test_the_text_of_an_answer_is_taken_as_bytes() -> None:
    data = (2088).to_bytes(4, "little") + bytes(40) + b"\xff\xfe" + b"a" * 2046
    assert runner.parse_answer(data).text == "\ufffd\ufffd" + "a" * 2046


def test_dtypes_have_the_numbers_of_the_header() -> None:
    text = (ROOT / "src" / "runner" / "dtype.h").read_text()
    listed = text[text.index("enum dtype {") : text.index("DTYPES,")]
    names = [line.strip(" ,").lower() for line in listed.splitlines()[1:] if line.strip()]
    assert names == list(ITEM) == [name(getattr(torch, d)) for d in ITEM]
