"""What of the worker's environment reaches a pack: the folders that a user names, no keys."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job, family_of

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


def test_a_pack_sees_the_folder_that_a_user_names_but_no_key(folder: Path) -> None:
    packs = folder / "packs-here"
    shutil.copytree(ROOT / "packs" / "c-cpu", packs / "rooted")
    with (packs / "rooted" / "adapter.py").open("a") as file:
        file.write(CHECKS)
    task = ROOT / "tasks" / "starter" / "01_swish.py"
    job = Job("right", "rooted", task, VERIFY / "c-cpu" / "01_swish.py", family=family_of("c-cpu"))
    program, home = worker_run.make_home(folder)
    given = {"WIDGET_ROOT": "/opt/widget", "WIDGET_KEY": "secret", "WIDGET_ROOTS": "no"}
    outcome = worker_run.run(program, home, folder, [job], 1, environment=given, packs=packs)
    assert "right" in outcome.answers, outcome.infra
    assert outcome.answers["right"]["verdict"] == "correct"

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


@pytest.mark.parametrize("box", ["auto", "thin"])
def test_a_library_learns_its_user_and_keeps_its_files_in_every_box(folder: Path, box: str) -> None:
    file = folder / "named.py"
    source = (VERIFY / "c-cpu" / "01_swish.py").read_text()
    file.write_text(source.replace("from c_cpu", NAMED + "from c_cpu"))
    job = Job(box, "c-cpu", ROOT / "tasks" / "starter" / "01_swish.py", file)
    program, home = worker_run.make_home(folder)
    outcome = worker_run.run(program, home, folder, [job], 1, box=box)
    assert outcome.answers[box]["verdict"] == "correct", outcome.answers[box]["feedback"]


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


def test_every_box_shows_the_libraries_of_pythonpath_and_nothing_of_the_judge(folder: Path) -> None:
    (folder / "disk" / "libraries" / "widths").mkdir(parents=True)
    (folder / "disk" / "libraries" / "widths" / "__init__.py").write_text("SLOPE = 1.0\n")
    (folder / "linked").symlink_to("disk")
    library = str(folder / "linked" / "libraries")
    source = (VERIFY / "c-cpu" / "01_swish.py").read_text()
    file = folder / "uses_it.py"
    file.write_text(LIBRARY.format(home=str(ROOT), library=library) + source)
    job = Job("right", "c-cpu", ROOT / "tasks" / "starter" / "01_swish.py", file)
    program, home = worker_run.make_home(folder)
    # The second one holds the harness itself, and the third is nowhere.
    given = {"PYTHONPATH": f"{library}:{ROOT}:{folder}/missing"}
    outcome = worker_run.run(program, home, folder, [job], 1, environment=given)
    assert outcome.answers["right"]["verdict"] == "correct", outcome.answers["right"]["feedback"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives candidates another user")
def test_a_library_that_the_box_cannot_read_is_named_with_the_remedy(folder: Path) -> None:
    closed = folder / "closed"
    (closed / "libraries").mkdir(parents=True)
    closed.chmod(0o700)
    job = Job("any", "c-cpu", ROOT / "tasks" / "starter" / "01_swish.py",
              VERIFY / "c-cpu" / "01_swish.py")  # fmt: skip
    program, home = worker_run.make_home(folder)
    outcome = worker_run.run(program, home, folder, [job], 1, environment={"PYTHONPATH": f"{closed}/libraries"})
    assert f"cannot read {closed}; 'chmod a+rx {closed}'" in outcome.infra["any"]
