"""What of the worker's environment reaches a pack: the folders that a user names, no keys."""

from __future__ import annotations

import shutil
from pathlib import Path

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
