"""Binaries are kept and found again, under everything that they depend on, and no candidate
reaches the folder that they are in."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job, family_of
from worker_session import Session

sys.path[:0] = [str(ROOT / "worker")]

from judge import builds  # noqa: E402

GOOD = (VERIFY / "c-cpu" / "01_swish.py").read_text()


# ---- the folder --------------------------------------------------------------------


def test_the_folder_is_bounded_and_the_oldest_goes_first(tmp_path: Path) -> None:
    cache = builds.Cache(tmp_path / "cache", limit=250)
    for i, key in enumerate("abc"):
        cache.put(key, b"x" * 100)
        os.utime(cache.folder / key, (i, i))
        if key == "b":
            assert cache.get("a") == b"x" * 100  # used now: no longer the oldest
    assert cache.get("b") is None and cache.get("a") and cache.get("c")
    assert sorted(os.listdir(cache.folder)) == ["a", "c"]


def test_the_key_is_of_all_that_a_build_depends_on(tmp_path: Path) -> None:
    b = builds.Builds(str(tmp_path))
    request = {"source": "text", "target": "sm_90"}
    assert b.key("p", request) is None  # nobody knows the compiler
    b.learn("p", "one compiler")
    b.learn("q", "one compiler")
    keys = {b.key("p", request), b.key("p", request | {"source": "text "}), b.key("q", request),
            b.key("p", request | {"target": "sm_100"})}  # fmt: skip
    b.identities["p"] = "another"
    keys.add(b.key("p", request))
    assert len(keys) == 5 and None not in keys


def test_the_order_of_a_request_is_not_what_it_says(tmp_path: Path) -> None:
    b = builds.Builds(str(tmp_path))
    b.learn("p", "one compiler")
    assert b.key("p", {"a": 1, "b": 2}) == b.key("p", {"b": 2, "a": 1})


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = builds.Cache(tmp_path / "file" / "below")
    cache.put("a", b"x")
    assert cache.get("a") is None


def test_nothing_is_kept_where_no_folder_is_given() -> None:
    b = builds.Builds(None)
    b.learn("p", "one compiler")
    assert b.key("p", {"source": "text"}) is None
    b.put(None, b"x")
    assert b.get(None) is None


# ---- a worker ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[Session]:
    """Also with the pack c-other: c-cpu with another line in its own code."""
    program, home = worker_run.make_home(folder)
    shutil.copytree(ROOT / "packs" / "c-cpu", folder / "packs-here" / "c-other")
    with (folder / "packs-here" / "c-other" / "c_cpu.py").open("a") as file:
        file.write("\n# Something changed.\n")
    options = ("--cache", str(folder / "cache"), "--packs", str(folder / "packs-here"))
    with Session(program, home, folder, 2, options) as session:
        yield session
        assert session.leave() == 0


def candidate(folder: Path, name: str, text: str, pack: str = "c-cpu") -> Job:
    path = folder / f"{name}.py"
    path.write_text(text)
    task = ROOT / "tasks" / "starter" / "01_swish.py"
    return Job(name, pack, task, path, family=family_of("c-cpu"))


def judged(worker: Session, job: Job) -> tuple[str, str | None]:
    worker.run([job], 1)
    assert worker.infra == {}
    return worker.answers[job.id]["verdict"], worker.answers[job.id]["build"]


def test_a_candidate_is_compiled_once(worker: Session, folder: Path) -> None:
    assert judged(worker, candidate(folder, "one", GOOD)) == ("correct", "compiled")
    assert judged(worker, candidate(folder, "two", GOOD)) == ("correct", "cached")
    other = GOOD + "\n# another"
    assert judged(worker, candidate(folder, "three", other)) == ("correct", "compiled")
    assert (folder / "cache").stat().st_mode & 0o777 == 0o700


def test_a_pack_whose_code_changed_compiles_again(worker: Session, folder: Path) -> None:
    job = candidate(folder, "changed", GOOD, "c-other")
    assert judged(worker, job) == ("correct", "compiled")


def test_binaries_that_were_spoilt_on_the_disk_are_compiled_again(
    worker: Session, folder: Path
) -> None:
    text = GOOD + "\n# spoilt"
    before = set(os.listdir(folder / "cache"))
    assert judged(worker, candidate(folder, "whole", text)) == ("correct", "compiled")
    (entry,) = set(os.listdir(folder / "cache")) - before
    (folder / "cache" / entry).write_bytes(b"spoilt")
    assert judged(worker, candidate(folder, "spoilt", text)) == ("correct", "compiled")
    assert judged(worker, candidate(folder, "mended", text)) == ("correct", "cached")


def test_a_candidate_does_not_see_the_folder(worker: Session, folder: Path) -> None:
    text = GOOD + f"\nimport os\nassert not os.path.exists({str(folder / 'cache')!r})\n"
    assert judged(worker, candidate(folder, "looks", text)) == ("correct", "compiled")


def test_a_build_that_fails_is_not_kept(worker: Session, folder: Path) -> None:
    before = sorted(os.listdir(folder / "cache"))
    text = GOOD.replace("expf(-x[i])", "no_such_function(-x[i])")
    for name in ("fails", "fails-again"):
        assert judged(worker, candidate(folder, name, text)) == ("compile_error", "compiled")
    assert worker.answers["fails"]["feedback"] == worker.answers["fails-again"]["feedback"]
    assert sorted(os.listdir(folder / "cache")) == before
