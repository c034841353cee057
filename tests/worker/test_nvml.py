"""What the worker makes of what the driver's library tells it, with a library that tells
what this file wants."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from worker_run import COMPILE, ROOT

LIBRARY = """
#include <stdio.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
#ifndef COUNT
#define COUNT 3
#endif
#ifndef OLD
int nvmlDeviceGetCount_v2(unsigned *n) { *n = COUNT; return 0; }
#endif
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d)
{ *d = (void *)(unsigned long)(i + 1); return i == 1; }
int nvmlDeviceGetUUID(void *d, char *out, unsigned size)
{ return snprintf(out, size, "GPU-%lu0ab", (unsigned long)d) < 0; }
int nvmlDeviceGetMinorNumber(void *d, unsigned *node)
{ *node = 10 - (unsigned)(unsigned long)d; return 0; }
"""
PROGRAM = """
#include "worker/gpu_choice.h"
#include <stdio.h>
#include <string.h>
static int choose(char **argv)
{
    struct nvml *g = nvml_open(argv[3]);
    struct err e = ERR_INIT;
    struct gpu gpu;
    int rc = gpu_choose(argv[1], strcmp(argv[2], "unset") ? argv[2] : NULL, g, &gpu, &e);
    if (rc < 0)
        printf("%s", e.text);
    else
        printf("%s %s", gpu.visible, gpu.node);
    nvml_close(g);
    return 0;
}
int main(int argc, char **argv)
{
    if (argc == 4)
        return choose(argv);
    struct nvml *g = nvml_open(argv[argc - 1]);
    printf("%s", g ? "open" : "none");
    for (size_t i = 0; g && i < nvml_count(g); i++) {
        char uuid[96];
        unsigned node;
        if (nvml_gpu(g, i, uuid, sizeof(uuid), &node))
            printf(" %s:%u", uuid, node);
    }
    nvml_close(g);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(folder: Path) -> Path:
    (folder / "main.c").write_text(PROGRAM)
    base = [f"base/{name}.c" for name in ("arena", "buf", "err", "fs", "home", "mem", "str")]
    sources = [ROOT / "src" / name for name in ("worker/gpu_choice.c", *base)]
    made = folder / "main"
    subprocess.run([*COMPILE, "-o", made, folder / "main.c", *sources, "-ldl"], check=True)
    return made


def fake(folder: Path, *flags: str) -> Path:
    """Three GPUs, of which the second does not answer, with nodes from 9 down."""
    (folder / "fake.c").write_text(LIBRARY)
    library = folder / "libfake.so"
    subprocess.run([*COMPILE, *flags, "-shared", "-fPIC", "-o", library, folder / "fake.c"], check=True)
    return library


def out(*argv: object) -> str:
    return subprocess.run([*argv], check=True, capture_output=True, text=True).stdout


def answered(program: Path, folder: Path, *flags: str) -> str:
    return out(program, fake(folder, *flags))


def test_every_gpu_that_answers_is_listed(program: Path, tmp_path: Path) -> None:
    assert answered(program, tmp_path) == "open GPU-10ab:9 GPU-30ab:7"


def test_a_library_that_knows_no_gpu_is_none(program: Path, tmp_path: Path) -> None:
    assert answered(program, tmp_path, "-DCOUNT=0") == "none"


def test_a_library_that_lacks_a_function_is_none(program: Path, tmp_path: Path) -> None:
    assert answered(program, tmp_path, "-DOLD") == "none"


def test_a_library_that_is_not_there_is_none(program: Path) -> None:
    assert out(program, "/nonexistent.so") == "none"


CHOICES = [
    ("cpu", "0,1", " "),
    ("cuda:0", "unset", "GPU-10ab /dev/nvidia9"),
    ("cuda:1", "unset", "GPU-30ab /dev/nvidia7"),
    ("cuda:0", "1", "GPU-30ab /dev/nvidia7"),
    ("cuda:1", "1, GPU-1", "GPU-10ab /dev/nvidia9"),
    ("cuda:2", "unset", "--device: no GPU '2'"),
    ("cuda:0", "MIG-8", "--device: no GPU 'MIG-8'"),
    ("cuda:1", "0", "--device: CUDA_VISIBLE_DEVICES is '0' and has no such GPU"),
    ("cuda:0", "", "--device: CUDA_VISIBLE_DEVICES is '' and has no such GPU"),
    ("cuda", "unset", "--device: 'cuda' is not cpu or cuda:N"),
    ("cuda:-1", "unset", "--device: 'cuda:-1' is not cpu or cuda:N"),
]  # fmt: skip


@pytest.mark.parametrize(("device", "listed", "found"), CHOICES)
def test_the_gpu_that_is_meant(program: Path, tmp_path: Path, device: str, listed: str, found: str) -> None:
    """As CUDA counts, and by a name that holds in a box where one node is left."""
    assert out(program, device, listed, fake(tmp_path)).startswith(found)


def test_without_the_drivers_library_a_number_is_what_it_says(program: Path) -> None:
    assert out(program, "cuda:1", "4,5", "/nonexistent.so") == "5 /dev/nvidia5"
    assert "only numbers can be found" in out(program, "cuda:0", "GPU-1", "/nonexistent.so")
