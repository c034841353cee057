"""worker/ is divided by trust, and a box shows only the folders of its own side. Each test
tries to open a file of every folder from inside."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job, Outcome, family_of

WORKER = ROOT / "worker"
SIDES = ("judge", "recorder", "compiler", "executor", "direct", "shared")
MAY_IMPORT = {
    "judge": {"judge", "shared"}, "recorder": {"recorder", "shared"}, "compiler": {"compiler", "shared"},
    "executor": {"executor", "shared"}, "direct": {"direct", "shared"}, "shared": {"shared"},
}  # fmt: skip
OPENS = """
def _seen():
    found = []
    for side in {sides!r}:
        try:
            open({folder!r} + "/" + side + "/__init__.py").close()
            found.append(side)
        except OSError:
            pass
    return "seen: " + " ".join(found) + ";"
"""
# Behind a candidate's text, which may hold no assembler.
OPENS_IN_C = """
static int look(const char *file)
{{
#if defined(__x86_64__)
    long rc = 257; /* openat */
    __asm__ volatile("syscall" : "+a"(rc) : "D"(-100L), "S"(file), "d"(0L) : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = 56, rc __asm__("x0") = -100, flags __asm__("x2") = 0;
    register const char *name __asm__("x1") = file;
    __asm__ volatile("svc 0" : "+r"(rc) : "r"(number), "r"(name), "r"(flags) : "memory");
#endif
    return rc >= 0;
}}
int looked(void)
{{
    static const char *const files[] = {{{files}}};
    int seen = 0;
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        seen |= look(files[i]);
    return seen;
}}
"""


@pytest.mark.parametrize("side", SIDES)
def test_a_side_imports_nothing_of_another(side: str) -> None:
    """child.py alone loads the side that its process is for."""
    for path in (WORKER / side).glob("*.py"):
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
        others = found & set(SIDES) - MAY_IMPORT[side]
        assert others <= ({"recorder", "direct"} if path.name == "child.py" else set()), path


def text_of(opens: str) -> str:
    return opens.format(sides=SIDES, folder=str(WORKER))


def looking(folder: Path) -> list[Job]:
    """A recorder, an interpreter and a runner that look around."""
    task = ROOT / "tasks" / "starter" / "01_swish.py"
    recorder = folder / "recorder.py"
    recorder.write_text(text_of(OPENS) + "raise RuntimeError(_seen())\n")
    pack = folder / "packs" / "looking"
    shutil.copytree(ROOT / "packs" / "triton", pack, dirs_exist_ok=True)
    with (pack / "adapter.py").open("a") as file:
        file.write(text_of(OPENS) + "def interpreter(message, region):\n    raise RuntimeError(_seen())\n")
    library = folder / "packs" / "looking-c"
    shutil.copytree(ROOT / "packs" / "c-cpu", library, dirs_exist_ok=True)
    files = ", ".join(json.dumps(f"{WORKER}/{side}/__init__.py") for side in SIDES)
    with (library / "adapter.py").open("a") as file:
        file.write(f"from shared import native\nnative.MEMORY += {OPENS_IN_C.format(files=files)!r}\n")
    source = (VERIFY / "c-cpu" / "01_swish.py").read_text()
    place = 'void swish_kernel('
    assert place in source and "[i] = " in source
    source = source.replace(place, "int looked(void);\n" + place, 1)
    runner = folder / "runner.py"
    runner.write_text(source.replace("[i] = ", "[i] = looked() ? 0 : "))
    return [
        Job("recorder", "looking", task, recorder, family=family_of("triton")),
        Job("interpreter", "looking", task, VERIFY / "triton" / "01_swish.py", family=family_of("triton")),
        Job("runner", "looking-c", task, runner, family=family_of("c-cpu")),
    ]  # fmt: skip


@pytest.fixture(scope="module", params=["full", "thin"])
def looked(request: pytest.FixtureRequest, folder: Path) -> Outcome:
    here = folder / request.param
    here.mkdir(mode=0o755)
    jobs = looking(here)
    program, home = worker_run.make_home(folder)
    return worker_run.run(program, home, here, jobs, 1, box=request.param, packs=here / "packs")


def test_a_recorder_sees_neither_the_judge_nor_an_executor(looked: Outcome) -> None:
    answer = looked.answers["recorder"]
    assert "seen: recorder compiler shared;" in answer["feedback"], answer


def test_an_interpreter_sees_neither_the_judge_nor_a_recorder(looked: Outcome) -> None:
    assert "seen: executor shared;" in looked.infra["interpreter"]


def test_a_runner_sees_nothing_of_the_worker(looked: Outcome) -> None:
    """Its kernel is wrong if it could open one of the files by asking the system itself."""
    assert looked.answers["runner"]["verdict"] == "correct"
