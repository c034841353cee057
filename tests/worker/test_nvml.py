"""What the worker makes of what the driver's library tells it, with a library that tells
what this file wants."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from worker_run import COMPILE, ROOT

LIBRARY = """
struct entry { unsigned pid; unsigned long long bytes; unsigned a, b; };
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d)
{ *d = (void *)(unsigned long)(i + 1); return i == 1; }
#ifndef OLD
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct entry *e)
{
    if (d != (void *)1)
        return 7;
    e[0] = (struct entry){11, 100, 0, 0};
    e[1] = (struct entry){12, ~0ULL, 0, 0};
    e[2] = (struct entry){0, 300, 0, 0};
    e[3] = (struct entry){14, 400, 0, 0};
    *n = 4;
    return 0;
}
#endif
"""
PROGRAM = """
#include "worker/nvml.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    struct nvml_use use[8];
    struct nvml *g = nvml_open(argv[argc - 1]);
    size_t n = g ? nvml_use(g, use, 8) : 0;
    printf("%s", g ? "open" : "none");
    for (size_t i = 0; i < n; i++)
        printf(" %d:%llu", (int)use[i].pid, (unsigned long long)use[i].bytes);
    nvml_close(g);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(folder: Path) -> Path:
    (folder / "main.c").write_text(PROGRAM)
    sources = [ROOT / "src" / name for name in ("worker/nvml.c", "base/mem.c")]
    made = folder / "main"
    subprocess.run([*COMPILE, "-o", made, folder / "main.c", *sources, "-ldl"], check=True)
    return made


def told(program: Path, folder: Path, *flags: str) -> str:
    (folder / "fake.c").write_text(LIBRARY)
    library = folder / "libfake.so"
    subprocess.run([*COMPILE, *flags, "-shared", "-fPIC", "-o", library, folder / "fake.c"], check=True)
    return subprocess.run([program, library], check=True, capture_output=True, text=True).stdout


def test_only_who_is_known_counts(program: Path, tmp_path: Path) -> None:
    """Not a process without a pid, as other namespaces' are told, nor one without a size."""
    assert told(program, tmp_path) == "open 11:100 14:400"


def test_a_library_that_lacks_a_function_is_none(program: Path, tmp_path: Path) -> None:
    assert told(program, tmp_path, "-DOLD") == "none"


def test_a_library_that_is_not_there_is_none(program: Path) -> None:
    out = subprocess.run([program, "/nonexistent.so"], check=True, capture_output=True, text=True)
    assert out.stdout == "none"
