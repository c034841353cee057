"""monkeys-runner with a driver that only says what it is asked (fake_cuda.c), and its
kernel of moves executed by ptx.py. tests/gpu/runner_check.py asks a real GPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from ptx import Kernel
from runner_client import ROOT, Client, Region
from test_runner import FLOATS, PAIRS, VIEWS, numbers, same

from judge import runner
from judge.runner import Done, Status
from shared.program import ITEM, Add, Call, Copy, Fill, Function, Launch, Module, Node, Number, Param
from shared.program import Place, Program, Pointer, Struct, TensorMap

THREADS = 8  # of a block; the real number only takes longer
CUBIN = Module("cubin", b"first 2 second 1 stray 0 refused 0 map 2 whole -1\0")  # -1: 432 bytes
NAMES = "first second stray refused map whole".split()


class Fake:
    """A runner with the fake driver."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        self.log.write_text("")
        (folder / "fake.c").write_text((ROOT / "tests" / "worker" / "fake_cuda.c").read_text())
        library = folder / "libcuda.so.1"
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", library, folder / "fake.c"], check=True)
        self.text = re.sub(" *//.*", "", (ROOT / "src/runner/move.ptx").read_text())
        self.folder = folder

    def start(self) -> Client:
        return Client("cuda", LD_LIBRARY_PATH=str(self.folder), FAKE_CUDA_LOG=str(self.log))

    def said(self) -> list[str]:
        lines = self.log.read_text().splitlines()
        self.log.write_text("")
        return lines

    def move(self, client: Client, region: Region, *nodes: Node) -> list[str]:
        """Runs moves; those of our kernel are executed here. What was asked."""
        assert client.do(region, *nodes).status == Status.DONE
        lines = self.said()
        base = next(int(line.split()[-1]) for line in lines if line.startswith("map "))
        for line in lines:
            if line.startswith("launch monkeys_move"):
                params = bytes.fromhex(line.split()[-1])
                held = bytearray(region.bytes.numpy().tobytes())
                Kernel(self.text, held, base).run(params, THREADS, 3)
                region.bytes.copy_(torch.frombuffer(held, dtype=torch.uint8))
        return [line for line in lines if line.split()[0] in ("copy", "set8", "set16", "set32", "launch")]


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Fake:
    return Fake(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="module")
def client(fake: Fake) -> Iterator[Client]:
    with fake.start() as started:
        yield started


@pytest.fixture
def region(fake: Fake) -> Iterator[Region]:
    fake.said()
    made = Region(1 << 16)
    yield made
    made.close()


# ---- moves ----


def some(dtype: str) -> torch.Tensor:
    """Every byte; of the others edges, ties, and random bits."""
    t = getattr(torch, dtype)
    if dtype == "bool":
        return torch.tensor([False, True])
    if ITEM[dtype] == 1:
        return torch.arange(256, dtype=torch.uint8).view(t)
    generator = torch.Generator().manual_seed(5)
    bits = torch.randint(-(2**63), 2**63 - 1, (60,), generator=generator)
    if dtype not in FLOATS:
        return torch.cat([bits, bits >> 40, torch.arange(-9, 9)]).to(t)
    ties = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
    ties = torch.cat([ties, (ties[1:] + ties[:-1]) / 2, ties * 2.0**-10, ties * 2.0**8, ties * 3.1])
    return torch.cat([ties.to(t), torch.tensor([float("inf"), -float("inf")]).to(t)])


@pytest.mark.parametrize(("source", "to"), [p for p in PAIRS if p[0] != p[1]], ids=lambda d: d)
def test_the_kernel_casts_as_torch_does(
    fake: Fake, client: Client, region: Region, source: str, to: str
) -> None:
    values = some(source)
    place, out = region.put(values), region.empty(getattr(torch, to), tuple(values.shape))
    fake.move(client, region, Copy(out, place))
    if (source, to) == ("float64", "float16"):
        values = values.float()  # torch does so itself, except on aarch64
    assert same(region.tensor(out), values.to(getattr(torch, to)))


@pytest.mark.parametrize("to", ["float32", "float64"])
@pytest.mark.parametrize("view", [v for v in VIEWS if v != "16 dimensions"])
def test_the_kernel_follows_strides(
    fake: Fake, client: Client, region: Region, view: str, to: str
) -> None:
    source = VIEWS[view]
    out = region.empty(getattr(torch, to), tuple(source.shape))
    fake.move(client, region, Copy(out, region.put(source)))
    assert torch.equal(region.tensor(out), source.to(getattr(torch, to)))


def test_the_kernel_goes_backwards(fake: Fake, client: Client, region: Region) -> None:
    source = numbers(6, 5)
    p = region.put(source)
    out = region.empty(torch.float32, (6, 5))
    fake.move(client, region, Copy(out, Place(p.at + 4 * 29, p.dtype, p.shape, (-5, -1))))
    assert torch.equal(region.tensor(out), source.flip(0, 1))


@pytest.mark.parametrize("dtype", list(ITEM))
def test_fills_with_gaps_and_without(
    fake: Fake, client: Client, region: Region, dtype: str
) -> None:
    t = getattr(torch, dtype)
    for value in (0, 1):
        whole = region.empty(t, (6, 5))
        part = Place(region.put(torch.zeros(6, 10, dtype=t)).at, dtype, (6, 5), (10, 2))
        fake.move(client, region, Fill(whole, value), Fill(part, value))
        assert same(region.tensor(whole), torch.full((6, 5), value, dtype=t))
        assert same(region.tensor(part), torch.full((6, 5), value, dtype=t))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8"])
def test_counters(fake: Fake, client: Client, region: Region, dtype: str) -> None:
    counter = region.put(torch.tensor([100], dtype=getattr(torch, dtype)))
    fake.move(client, region, Add(counter, 5), Add(counter, -7))
    assert region.tensor(counter).item() == 98


def test_the_driver_does_what_has_no_gaps(fake: Fake, client: Client, region: Region) -> None:
    x = region.put(numbers(8, 9).t())
    same_layout = Place(region.room(288), "float32", (9, 8), (1, 9))
    wide = region.empty(torch.int64, (10,))
    asked = fake.move(
        client, region, Copy(same_layout, x), Fill(wide, 0), Fill(x, 1.0),
        Fill(region.empty(torch.bfloat16, (3,)), 1.0), Fill(region.empty(torch.bool, (3,)), True),
    )  # fmt: skip
    assert asked == ["copy 288", "set32 20", "set32 72", "set16 3", "set8 3"]


def test_moves_of_nothing_ask_for_nothing(fake: Fake, client: Client, region: Region) -> None:
    nothing = Place(0, "float32", (3, 0), (1, 1))
    assert fake.move(client, region, Fill(nothing, 1.0), Copy(nothing, nothing)) == []


@pytest.mark.skipif(not shutil.which("ptxas"), reason="needs ptxas")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_the_kernel_assembles(fake: Fake, target: str) -> None:
    text = fake.folder / "move.ptx"
    text.write_text(fake.text)
    subprocess.run(["ptxas", f"-arch={target}", "-o", os.devnull, text], check=True)


# ---- launches ----


def program(*nodes: Node, modules: tuple[Module, ...] = (CUBIN,)) -> Program:
    return Program(modules, tuple(Function(0, n) for n in NAMES), (nodes,))


def launch(function: str, *params: Param, **more: object) -> Launch:
    options = {"grid": (3, 1, 1), "block": (32, 2, 1), "shared": 0, **more}
    return Launch(NAMES.index(function), params=params, **options)  # type: ignore[arg-type]


def loaded(client: Client, region: Region, *nodes: Node) -> Done:
    client.unload()
    return client.load(program(*nodes), region)


def test_a_launch_has_its_grid_and_parameters(fake: Fake, client: Client, region: Region) -> None:
    node = launch("first", Pointer(512), Number(4, 7), grid=(5, 6, 7), shared=99)
    assert loaded(client, region, node).status == Status.DONE
    base = next(int(line.split()[-1]) for line in fake.said() if line.startswith("map "))
    assert client.run().status == Status.DONE
    address = (base + 512).to_bytes(8, "little").hex()
    assert fake.said() == [f"launch first 5,6,7 32,2,1 99 {address},0700000000000000", "wait", "wait"]


def test_shared_memory_and_clusters_are_asked_for_once(
    fake: Fake, client: Client, region: Region
) -> None:
    nodes = (launch("first", Number(1, 0), Number(1, 0), shared=90000),
             launch("first", Number(1, 0), Number(1, 0), shared=70000),
             launch("second", Number(1, 0), cluster=(16, 1, 1)))  # fmt: skip
    assert loaded(client, region, *nodes).status == Status.DONE
    assert [s for s in fake.said() if s.startswith("attr")] == [
        "attribute first 8 90000", "attribute second 14 1",
    ]  # fmt: skip
    client.run()
    assert "extended second 3,1,1 32,2,1 0 5:1,0,0 4:16,1,1 0000000000000000" in fake.said()


def test_cooperative_and_programmatic_launches(fake: Fake, client: Client, region: Region) -> None:
    here = Number(8, 1)
    nodes = (launch("second", here), launch("second", here, pdl=True),
             launch("second", here, cooperative=True))  # fmt: skip
    loaded(client, region, *nodes)
    fake.said()
    client.run()
    one = "0100000000000000"
    assert fake.said() == [
        f"launch second 3,1,1 32,2,1 0 {one}",  # and no wait: the next may overlap it
        f"extended second 3,1,1 32,2,1 0 6:1,0,0 {one}", "wait",
        f"extended second 3,1,1 32,2,1 0 2:1,0,0 {one}", "wait", "wait",
    ]  # fmt: skip


def test_a_tensor_map_is_made_once_and_passed_by_value(
    fake: Fake, client: Client, region: Region
) -> None:
    shape = TensorMap(1024, 7, (64, 32), (256,), (16, 8), swizzle=3, fill=1)
    assert loaded(client, region, launch("map", shape, Number(8, 2))).status == Status.DONE
    assert "tensor map 7 2: 64/0/16/1 32/256/8/1 3 1" in fake.said()
    client.run()
    assert fake.said()[0].endswith("5a5a5a5a5a5a5a5a,0200000000000000")


def test_a_tensor_map_that_the_driver_refuses_has_its_node(
    client: Client, region: Region
) -> None:
    crooked = TensorMap(1028, 7, (64, 32), (256,), (16, 8))
    done = loaded(client, region, launch("second", Number(8, 0)), launch("map", crooked, Number(8, 2)))
    assert (done.status, done.node) == (Status.LAUNCH_FAILED, 1)
    assert "CUDA_ERROR_INVALID_VALUE" in done.text


def test_a_structure_has_its_addresses_and_tensor_maps(
    fake: Fake, client: Client, region: Region
) -> None:
    shape = TensorMap(1024, 7, (64, 32), (256,), (16, 8), swizzle=3)
    data = bytes(i % 251 for i in range(432))
    given = Struct(data, ((8, Pointer(512)), (192, shape), (320, Pointer(0))))
    assert loaded(client, region, launch("whole", given)).status == Status.DONE
    said = fake.said()
    base = next(int(line.split()[-1]) for line in said if line.startswith("map "))
    assert "tensor map 7 2: 64/0/16/1 32/256/8/1 3 0" in said
    client.run()
    got = bytes.fromhex(fake.said()[0].split()[-1])
    assert got[8:16] == (base + 512).to_bytes(8, "little")
    assert got[192:320] == b"Z" * 128
    assert got[320:328] == base.to_bytes(8, "little")
    assert (got[:8], got[16:192], got[328:]) == (data[:8], data[16:192], data[328:])


def test_a_tensor_map_in_a_structure_that_the_driver_refuses_has_its_node(
    client: Client, region: Region
) -> None:
    crooked = Struct(bytes(128), ((0, TensorMap(1028, 7, (64, 32), (256,), (16, 8))),))
    done = loaded(client, region, launch("second", Number(8, 0)), launch("whole", crooked))
    assert (done.status, done.node) == (Status.LAUNCH_FAILED, 1)


def test_modules_are_loaded_again_for_every_run_but_the_first(
    fake: Fake, client: Client, region: Region
) -> None:
    loaded(client, region, launch("second", Number(8, 0)))
    fake.said()
    seen = []
    for reload in (True, True, False, True):
        client.run(reload=reload)
        seen.append([s.split()[0] for s in fake.said() if "load" in s])
    assert seen == [[], ["unload", "load"], [], ["unload", "load"]]


def test_a_muted_run_moves_and_launches_nothing(
    fake: Fake, client: Client, region: Region
) -> None:
    out = region.empty(torch.float32, (4,))
    loaded(client, region, Fill(out, 2.0), launch("second", Number(8, 0)))
    fake.said()
    client.run(mute=True)
    assert "launch" not in " ".join(fake.said())
    assert region.tensor(out).tolist() == [2.0] * 4


def test_a_timed_run_clears_the_cache_and_waits_once(
    fake: Fake, client: Client, region: Region
) -> None:
    loaded(client, region, *[launch("second", Number(8, 0))] * 2)
    client.run(timed=True)
    fake.said()
    done = client.run(timed=True)
    words = [s.split()[0] for s in fake.said()]
    assert words == ["unload", "load", "set8", "record", "launch", "launch", "record", "wait"]
    assert done.device_ns == 125_000
    assert done.host_ns > 0


def test_unloading_leaves_nothing(fake: Fake, client: Client, region: Region) -> None:
    loaded(client, region, launch("second", Number(8, 0)))
    fake.said()
    maps = Path(f"/proc/{client.process.pid}/maps")
    assert "memfd:region" in maps.read_text()
    assert client.unload().status == Status.DONE
    words = [s.split()[0] for s in fake.said()]
    assert words[0] == "wait"
    assert sorted(words[1:]) == sorted("unload unload set8 wait unmap free release".split())
    assert "memfd:region" not in maps.read_text()


# ---- failures ----


def test_a_refused_launch_has_its_node_and_the_runner_goes_on(
    client: Client, region: Region
) -> None:
    loaded(client, region, launch("second", Number(8, 0)), launch("refused"))
    done = client.run()
    assert (done.status, done.node, done.detail) == (Status.LAUNCH_FAILED, 1, 1)
    assert "refused" in done.text
    assert "CUDA_ERROR_INVALID_VALUE" in done.text
    assert loaded(client, region, launch("second", Number(8, 0))).status == Status.DONE
    assert client.run().status == Status.DONE


@pytest.mark.parametrize(("data", "status"), [(b"bad", Status.NO_MODULE), (b"big", Status.NO_MEMORY)])
def test_a_module_that_does_not_load(
    client: Client, region: Region, data: bytes, status: Status
) -> None:
    client.unload()
    done = client.load(program(modules=(Module("cubin", data + bytes(60)),)), region)
    assert done.status == status
    assert client.load(program(), region).status == Status.DONE


def test_a_kernel_that_is_missing_is_named(client: Client, region: Region) -> None:
    client.unload()
    done = client.load(Program((CUBIN,), (Function(0, "absent"),), ()), region)
    assert done.status == Status.NO_SYMBOL
    assert "absent" in done.text


def test_too_much_shared_memory_is_a_launch_that_fails(client: Client, region: Region) -> None:
    done = loaded(client, region, launch("second", Number(8, 0), shared=300000))
    assert done.status == Status.LAUNCH_FAILED
    assert "300000" in done.text


@pytest.mark.parametrize("timed", [False, True])
def test_a_context_that_broke_says_so_from_then_on(
    fake: Fake, region: Region, timed: bool
) -> None:
    with fake.start() as own:
        own.load(program(launch("second", Number(8, 0)), launch("stray"), launch("second", Number(8, 0))), region)
        done = own.run(timed=timed)
        assert (done.status, done.detail) == (Status.CONTEXT_BROKEN, 700)
        assert done.node == (None if timed else 1)
        assert "CUDA_ERROR_ILLEGAL_ADDRESS" in done.text
        assert own.unload().status == Status.CONTEXT_BROKEN


def test_what_kernels_print_goes_nowhere(
    fake: Fake, region: Region, capfd: pytest.CaptureFixture[str]
) -> None:
    """A later candidate of this runner would be shown it."""
    with fake.start() as own:
        own.load(program(launch("second", Number(8, 0))), region)
        assert own.run().status == Status.DONE
    assert any(line.startswith("launch second") for line in fake.said())
    assert "printed by a kernel" not in capfd.readouterr().out


def test_a_library_needs_a_cpu(client: Client, region: Region) -> None:
    client.unload()
    program = Program((Module("library", b"abc"),), (Function(0, "stub"),), ((Call(0, ()),),))
    done = client.load(program, region)
    assert (done.status, done.text) == (Status.BAD_PROGRAM, "a library needs --device cpu")


def test_encoding_says_what_the_document_says() -> None:
    node = launch("first", Pointer(512), Number(4, -1), cluster=(2, 1, 1), cooperative=True, pdl=True)
    data = runner.encode(Program((Module("library", b"abc"),), (Function(0, "f"),), ((node,),)))
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
    assert words[1:] == [
        1, 2, 3, int.from_bytes(b"abc", "little"), 1, 0, 1, ord("f"), 1, 1, 4, 0, 3, 1, 1, 32, 2, 1, 0,
        2, 1, 1, 3, 2, 1, 512, 2, 4, 0xFFFFFFFF,
    ]  # fmt: skip


def test_the_encoding_of_a_structure_says_what_the_document_says() -> None:
    shape = TensorMap(256, 9, (64, 32), (128,), (64, 8), 3, 0)
    given = Struct(b"ab" + bytes(190), ((8, Pointer(512)), (64, shape)))
    data = runner.encode(Program((CUBIN,), (Function(0, "f"),), ((launch("first", given),),)))
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
    at = len(words) - 43
    assert words[at : at + 4] == [1, 4, 192, int.from_bytes(b"ab", "little")]
    assert words[at + 27 :] == [2, 8, 1, 512, 64, 3, 256, 9, 2, 64, 32, 128, 64, 8, 3, 0]
