"""What of the worker's environment reaches a pack: the folders that a user names, no keys."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job, Outcome, family_of

TASK = ROOT / "tasks" / "starter" / "01_swish.py"
RIGHT = (VERIFY / "c-cpu" / "01_swish.py").read_text()
CHECKS = """

import os

_prepare = prepare


def prepare(mode):
    if os.environ.get("WIDGET_ROOT") != "/opt/widget":
        raise RuntimeError("the user's folder is not there")
    if any(name.startswith("WIDGET_") and name != "WIDGET_ROOT" for name in os.environ):
        raise RuntimeError("more is there than the user's folder")
    _prepare(mode)
"""

NAMED = """
import getpass
import os
import tempfile

import torch._dynamo
import torch._inductor.runtime.cache_dir_utils as inductor
from torch.utils.cpp_extension import get_default_build_root

assert getpass.getuser() == os.environ["USER"]
W = torch.randn(1024, 1024) / 1024**0.5
places = [inductor.cache_dir(), os.environ["TRITON_CACHE_DIR"], os.environ["TORCH_EXTENSIONS_DIR"],
          get_default_build_root(), torch._dynamo.config.debug_dir_root]
for place in map(os.path.realpath, places):
    assert place.startswith(os.path.realpath(os.environ["HOME"]) + os.sep), place
    os.makedirs(place, exist_ok=True)
    tempfile.TemporaryFile(dir=place).close()
"""


LIBRARY = """
import os

import widths

assert widths.SLOPE == 1.0
assert os.path.exists({home!r} + "/worker/recorder")
assert not os.path.exists({home!r} + "/worker/judge")
try:
    open({library!r} + "/widths/more.py", "w").close()
except OSError:
    pass
else:
    raise AssertionError("a library of the user's can be written to")
"""

# As ccache does under the compiler's name, which many put first on their PATH.
CACHED = """#!/bin/sh
[ "$CCACHE_DISABLE" ] || { echo "ccache: error: Could not determine home directory" >&2; exit 1; }
exec /usr/bin/cc "$@"
"""


def named(id: str) -> Job:
    return Job(id, "c-cpu", TASK, RIGHT.replace("from c_cpu", NAMED + "from c_cpu"))


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    """One worker for all that its environment may have."""
    packs = folder / "packs-here"
    shutil.copytree(ROOT / "packs" / "c-cpu", packs / "rooted")
    with (packs / "rooted" / "adapter.py").open("a") as file:
        file.write(CHECKS)
    (folder / "disk" / "libraries" / "widths").mkdir(parents=True)
    (folder / "disk" / "libraries" / "widths" / "__init__.py").write_text("SLOPE = 1.0\n")
    (folder / "linked").symlink_to("disk")
    library = str(folder / "linked" / "libraries")
    cached = folder / "disk" / "libraries" / "cc"
    cached.write_text(CACHED)
    cached.chmod(0o755)
    # The second one holds the harness itself, and the third is nowhere.
    given = {"WIDGET_ROOT": "/opt/widget", "WIDGET_KEY": "secret", "WIDGET_ROOTS": "no",
             "PYTHONPATH": f"{library}:{ROOT}:{folder}/missing",
             "PATH": f"{library}:{os.environ['PATH']}"}  # fmt: skip
    jobs = [
        Job("rooted", "rooted", TASK, RIGHT, family=family_of("c-cpu")),
        Job("library", "c-cpu", TASK, LIBRARY.format(home=str(ROOT), library=library) + RIGHT),
        named("named"),
    ]
    made = worker_run.make_home(folder)
    return worker_run.run(*made, folder, jobs, 1, environment=given, packs=packs)


def is_correct(outcome: Outcome, name: str) -> None:
    assert name in outcome.answers, outcome.infra
    assert outcome.answers[name]["verdict"] == "correct", outcome.answers[name]["feedback"]


def test_a_pack_sees_the_folder_that_a_user_names_but_no_key(outcome: Outcome) -> None:
    is_correct(outcome, "rooted")


def test_a_library_learns_its_user_and_keeps_its_files(outcome: Outcome) -> None:
    is_correct(outcome, "named")


def test_a_compiler_behind_ccache_compiles(outcome: Outcome) -> None:
    is_correct(outcome, "named")


def test_it_does_so_in_a_thin_box(folder: Path) -> None:
    work = folder / "thin"
    work.mkdir(mode=0o755)
    is_correct(worker_run.run(*worker_run.make_home(folder), work, [named("thin")], 1, box="thin"), "thin")


def test_every_box_shows_the_libraries_of_pythonpath_and_nothing_of_the_judge(outcome: Outcome) -> None:
    is_correct(outcome, "library")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives candidates another user")
def test_a_library_that_the_box_cannot_read_is_named_with_the_remedy(folder: Path) -> None:
    closed = folder / "closed"
    (closed / "libraries").mkdir(parents=True)
    closed.chmod(0o700)
    outcome = worker_run.run(*worker_run.make_home(folder), folder, [Job("any", "c-cpu", TASK, RIGHT)], 1,
                             environment={"PYTHONPATH": f"{closed}/libraries"})  # fmt: skip
    assert f"cannot read {closed}; 'chmod a+rx {closed}'" in outcome.infra["any"]
