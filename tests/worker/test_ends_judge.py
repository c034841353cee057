"""A task's code runs in the judge. One that ends the judge is unusable, and says so; nobody else
pays for it: the jobs beside it are judged by the next judge."""

from __future__ import annotations

from pathlib import Path

import worker_run
from worker_run import ROOT, VERIFY, Job
from worker_session import Session

TASK = ROOT / "tasks" / "starter" / "01_swish.py"
CANDIDATE = VERIFY / "c-cpu" / "01_swish.py"
# Where a task ends the process, and how.
ENDS = {
    "forward": ("-> torch.Tensor:", "import os; os._exit(0)"),
    "inputs": ("def get_inputs():", "import os; os.kill(os.getpid(), 9)"),
    "import": ("if True:", "import ctypes; ctypes.string_at(0)"),
}


def test_a_task_that_ends_the_judge_is_unusable_and_the_jobs_beside_it_are_judged(
    folder: Path,
) -> None:
    program, home = worker_run.make_home(folder)
    jobs = []
    for name, (line, ends) in ENDS.items():
        jobs += [job(name, folder, line, ends), Job(f"beside-{name}", "c-cpu", TASK, CANDIDATE)]
    with Session(program, home, folder, 3) as worker:
        worker.run(jobs, len(jobs))
        before = (folder / "forward.runs").read_text()
        worker.run([job("forward", folder, *ENDS["forward"], again="-again")], 1)
        assert worker.leave() == 0
    assert before and (folder / "forward.runs").read_text() == before  # the second job's did not run
    assert worker.infra == {}
    for name in (*ENDS, "forward-again"):
        answer = worker.answers[name]
        assert answer["verdict"] == "infra" and answer["unusable"] is True
        assert "its code ended the process that runs it" in answer["infra"]
    for name in ENDS:
        assert worker.answers[f"beside-{name}"]["verdict"] == "correct"


def job(name: str, folder: Path, line: str, ends: str, again: str = "") -> Job:
    text = TASK.read_text()
    ends = f"open({str(folder / name)!r} + '.runs', 'a').write('x'); {ends}"
    if line in text:
        text = text.replace(line, f"{line}\n{indent(text, line)}{ends}")
    else:
        text += f"\n{line}\n    {ends}\n"
    task = folder / f"{name}.py"
    task.write_text(text)
    return Job(name + again, "c-cpu", task, CANDIDATE)


def indent(text: str, line: str) -> str:
    """Of the line after it."""
    after = text.partition(line + "\n")[2]
    return after[: len(after) - len(after.lstrip(" "))]
