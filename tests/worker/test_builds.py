"""Compiled candidates are kept and found again, and nobody but the compiler's own boxed
process decides what is kept."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job
from worker_session import Session

sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "c-cpu")]

import builds  # noqa: E402

GOOD = (VERIFY / "c-cpu" / "01_swish.py").read_text()
# What its process leaves behind is not what is kept: the object is spoilt after the build.
SPOILS = GOOD + """
import os, pathlib
for path in pathlib.Path(os.environ["MONKEYS_C_CACHE"]).rglob("kernel.so"):
    path.write_bytes(b"spoilt")
"""


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
    job = {"pack": "p", "device": "cpu", "candidate": "text"}
    assert b.key(job) is None
    b.learn("p", {"ok": True, "builds": "one compiler"})
    keys = {b.key(job), b.key(job | {"candidate": "text "}), b.key(job | {"device": "cuda:0"})}
    b.identities["p"] = "another"
    keys.add(b.key(job))
    b.checks = "other rules"
    keys.add(b.key(job))
    assert len(keys) == 5 and None not in keys


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = builds.Cache(tmp_path / "file" / "below")
    cache.put("a", b"x")
    assert cache.get("a") is None


def test_nothing_is_kept_where_no_folder_is_given() -> None:
    b = builds.Builds(None)
    b.learn("p", {"ok": True, "builds": "one compiler"})
    assert b.key({"pack": "p", "device": "cpu", "candidate": "text"}) is None


# ---- a worker ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[Session]:
    program, home = worker_run.make_home(folder)
    packs = worker_run.pack_that_builds_before(folder)
    options = ("--cache", str(folder / "cache"), "--packs", str(packs))
    with Session(program, home, folder, 2, options) as session:
        session.run([candidate(folder, "first", GOOD)], 1)
        yield session
        assert session.leave() == 0


def candidate(folder: Path, name: str, text: str) -> Job:
    path = folder / f"{name}.py"
    path.write_text(text)
    return Job(name, "c-kept", ROOT / "tasks" / "starter" / "01_swish.py", path)


def judged(worker: Session, job: Job) -> tuple[str, str | None]:
    worker.run([job], 1)
    assert worker.infra == {}
    return worker.answers[job.id]["verdict"], worker.answers[job.id]["build"]


def test_a_candidate_is_compiled_once(worker: Session, folder: Path) -> None:
    assert judged(worker, candidate(folder, "one", GOOD)) == ("correct", "compiled")
    assert judged(worker, candidate(folder, "two", GOOD)) == ("correct", "cached")
    assert judged(worker, candidate(folder, "three", GOOD + "\n# another")) == (
        "correct", "compiled")  # fmt: skip
    assert (folder / "cache").stat().st_mode & 0o777 == 0o700


def test_a_pack_without_a_toolchain_compiles_as_it_loads(worker: Session, folder: Path) -> None:
    for name in ("plain", "plain-again"):
        job = Job(**vars(candidate(folder, name, GOOD)) | {"pack": "c-cpu"})
        assert judged(worker, job) == ("correct", None)


def test_what_a_candidate_does_to_its_objects_is_not_kept(worker: Session, folder: Path) -> None:
    for name, build in (("spoils", "compiled"), ("spoils-again", "cached")):
        assert judged(worker, candidate(folder, name, SPOILS))[1] == build
    assert b"spoilt" not in b"".join(p.read_bytes() for p in (folder / "cache").iterdir())


@pytest.mark.parametrize(
    "name, text, verdict",
    [
        ("no-c", GOOD.replace("expf(-x[i])", "expf(-x[i]"), "compile_error"),
        ("no-python", "def f(:\n", "compile_error"),
        ("deep", GOOD + "\ny = " + "-" * 20000 + "1\n", "out_of_memory"),
        ("system", GOOD.replace("expf(-x[i])", "system(0)"), "compile_error"),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_a_failing_build_is_told_as_without_a_cache(
    worker: Session, folder: Path, name: str, text: str, verdict: str
) -> None:
    assert judged(worker, candidate(folder, name, text)) == (verdict, "compiled")
    told = worker.answers[name]["feedback"]
    assert judged(worker, candidate(folder, name + "-again", text)) == (verdict, "cached")
    assert worker.answers[name + "-again"]["feedback"].split("\n")[-1] == told.split("\n")[-1]
