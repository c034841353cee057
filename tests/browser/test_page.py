"""The page of `serve` and `report` in a real browser: it loads, follows a run, filters and sorts, shows
code and changes, treats what a model wrote as text, and asks nobody but the server it came from."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from driver import Browser, until  # noqa: E402

ROOT = Path(__file__).parents[2]
MONKEYS = os.environ.get("MONKEYS", str(ROOT / "monkeys"))
TASKS = ["01_swish", "02_gelu", "04_softmax", "05_logsumexp", "22_mse_loss"]
# What a page that is open when its server ends says of its requests; it tries again.
SERVER_ENDED = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE")
EVIL = "<img src=x onerror=owned=1>"
HOSTILE = (
    f"</script><script>owned=1</script>{EVIL}\u202eesrever\x1b]0;t\x07<!--<svg onload=owned=1>"
    "&amp;\u2028</pre></details>"
)


def environment(home: Path) -> dict[str, str]:
    kept = {k: os.environ[k] for k in ("PATH", "MONKEYS_PYTHON") if k in os.environ}
    return {**kept, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}


class Program:
    """`monkeys` in the background, with its page."""

    def __init__(self, home: Path, *args: str) -> None:
        self.said = home / f"said-{args[0]}"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [MONKEYS, *args], cwd=home, env=environment(home), stdout=said, stderr=said
            )
        self.url = until(self.find_url, "the program says where its page is")

    def find_url(self) -> str | None:
        text = self.said.read_text()
        if self.process.poll() is not None:
            raise AssertionError(text)
        found = re.search(r"http://127\.0\.0\.1:\d+/", text)
        return found[0] if found else None

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    b = Browser()
    yield b
    b.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """After each test: nothing was complained about, and nobody else was asked."""
    yield chromium
    problems = [m["message"] for m in chromium.log("browser") if m["level"] == "SEVERE"]
    assert [m for m in problems if not any(e in m for e in SERVER_ENDED)] == []
    asked = []
    for entry in chromium.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    assert asked
    own = ("http://127.0.0.1:", "file://", "data:,", "about:")
    assert [url for url in asked if not url.startswith(own)] == []


@pytest.fixture(scope="module")
def followed(home: Path, chromium: Browser) -> Path:
    """A run of recorded replies, followed in the browser from its start to its end. Its worker
    connects to it."""
    tasks = [w for t in TASKS for w in ("--tasks", str(ROOT / f"tasks/starter/{t}.py"))]
    quill = ROOT / "recordings/quill"
    replay = ["--guide", str(quill / "guide.md"), "--no-card", "--pack-seeds", "1", "--model", "claude"]
    run = Program(
        home, "run", *tasks, "--dsl", "quill", "--device", "cpu", "--attempts", "4", "--force",
        "--no-timing", *replay, "--cassette", str(quill / "monkeys.jsonl"), "--out", "ran",
        "--serve=127.0.0.1:0", "--verifier", "tcp=127.0.0.1:0",
    )  # fmt: skip
    try:
        chromium.open(run.url)
        chromium.wait("document.querySelector('#grid tbody tr') !== null", "the page shows the tasks")
        chromium.run("window.same_page = true; document.querySelector('#nav a').focus()")
        before = cells(chromium)
        until(lambda: cells(chromium) > before, "an attempt appears by itself")
        first = cells(chromium)
        until(lambda: cells(chromium) > first, "and another")
        assert chromium.run("return window.same_page") is True
        assert chromium.run("return document.activeElement.closest('#nav') !== null"), "the focus stays"
        assert run.process.wait() == 0, run.said.read_text()
    finally:
        run.end()
    return home / "ran"


def cells(b: Browser) -> int:
    return int(b.run("return document.querySelectorAll('#grid .cell').length"))


@pytest.fixture(scope="module")
def served(followed: Path, home: Path) -> Iterator[str]:
    server = Program(home, "serve", "--listen", "127.0.0.1:0", str(followed))
    yield server.url
    assert server.end() == 0


def rows(b: Browser) -> list[str]:
    return list(
        b.run("return [...document.querySelectorAll('#grid tbody tr .task')].map((x) => x.innerText)")
    )


def load(b: Browser, url: str) -> None:
    b.open("about:blank")
    b.open(url)
    b.wait("document.querySelector('#grid tbody tr') !== null", "the page shows the tasks")


def test_page_follows_a_run(browser: Browser, followed: Path) -> None:
    assert (followed / "run.db").exists()


def test_overview_says_what_happened(browser: Browser, served: str) -> None:
    load(browser, served)
    assert len(rows(browser)) == len(TASKS)
    assert "quill" in browser.text("h1") and "finished" in browser.text("h1")
    assert f"of {len(TASKS)}" in browser.text("p.lead")
    browser.wait("document.querySelector('#live').innerText === 'live'", "the page is connected")


def test_workers_are_listed(browser: Browser, served: str) -> None:
    load(browser, served)
    cells = browser.run(
        "return [...document.querySelectorAll('[data-card=workers] tbody tr')]"
        ".map((r) => [...r.children].map((x) => x.innerText))"
    )
    assert len(cells) == 1
    host, process, device, state, _, verdicts, refused, truths, memory, heard = cells[0]
    assert host and process.isdigit() and device == "cpu" and state == "left"
    assert int(verdicts) >= len(TASKS) and refused == "0"
    assert " of " in memory and truths == "0" and heard.endswith(" ago")


def test_filters_narrow_the_grid(browser: Browser, served: str) -> None:
    load(browser, served)
    browser.type("#filter-text", "softmax")
    browser.wait("document.querySelectorAll('#grid tbody tr').length === 1", "one task is left")
    assert rows(browser) == ["starter/04_softmax"]
    browser.run(
        "const x = document.querySelector('#filter-text'); x.value = '';"
        "x.dispatchEvent(new Event('input'))"
    )
    browser.run(
        "const x = document.querySelector('#filter-state'); x.value = 'solved';"
        "x.dispatchEvent(new Event('change'))"
    )
    solved = rows(browser)
    browser.run(
        "const x = document.querySelector('#filter-state'); x.value = 'unsolved';"
        "x.dispatchEvent(new Event('change'))"
    )
    unsolved = rows(browser)
    assert sorted(solved + unsolved) == [f"starter/{t}" for t in TASKS]
    assert solved


def test_columns_are_sorted_by_keyboard(browser: Browser, served: str) -> None:
    load(browser, served)
    assert rows(browser) == [f"starter/{t}" for t in TASKS]
    browser.run("document.querySelector('#filter-text').focus()")
    for _ in range(20):  # by Tab alone to the head of the first column
        browser.press("Tab")
        if browser.run("return document.activeElement.closest('#grid th')?.innerText") == "task":
            break
    browser.press("Enter")
    assert rows(browser) == [f"starter/{t}" for t in reversed(TASKS)]
    assert browser.run("return document.activeElement.closest('th').ariaSort") == "descending"
    browser.press("Tab", "Space")
    assert browser.run("return document.activeElement.closest('th').ariaSort") == "ascending"


def test_task_page_shows_code_and_changes(browser: Browser, served: str) -> None:
    load(browser, served)
    browser.run(  # a second attempt, so that there is one before it
        "[...document.querySelectorAll('#grid tbody tr')].map((r) => r.querySelectorAll('.cell')[1])"
        ".find(Boolean).click()"
    )
    browser.wait("document.querySelector('pre.numbered') !== null", "the task is shown")
    assert "class Model" in browser.text("pre.numbered")
    assert "Attempt 2 of" in browser.text("#main")
    assert "undefined" not in browser.text("#main"), "every fact that is shown is known"
    assert browser.run("return document.querySelectorAll('pre.numbered .k').length") > 3
    browser.run(
        "[...document.querySelectorAll('button')].find((b) => b.innerText.startsWith('Changes')).click()"
    )
    assert "+++ attempt 2" in browser.text("pre[aria-label='What changed in the code']")
    assert browser.run("return document.querySelectorAll('pre .add, pre .del').length") > 0


def test_other_views_are_shown(browser: Browser, served: str) -> None:
    load(browser, served)
    for path, title in (("failures", "Failures"), ("kernels", "Kernels"), ("archive", "Archive")):
        browser.run("location.hash = arguments[0]", f"#/{path}")
        browser.wait(f"document.querySelector('h1').innerText === '{title}'", f"{title} is shown")
        assert browser.run("return document.querySelectorAll('#main tbody tr').length") > 0


def test_pictures(browser: Browser, served: str, home: Path) -> None:
    """Light, dark and as wide as a phone; MONKEYS_PICTURES=DIR keeps them."""
    out = Path(os.environ.get("MONKEYS_PICTURES", home))
    for name, theme, width in (("light", "light", 1200), ("dark", "dark", 1200), ("phone", "light", 390)):
        browser.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=1600, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": theme}
        browser.devtools("Emulation.setEmulatedMedia", features=[feature])
        for view, ready in (
            ("", "#grid tbody tr"), ("task/0/starter%2F04_softmax", "pre.numbered"),
            ("archive", "svg circle"), ("failures", "tbody tr"), ("kernels", "tbody tr"),
        ):  # fmt: skip
            browser.open("about:blank")
            browser.open(f"{served}#/{view}")
            browser.wait(f"document.querySelector('{ready}') !== null", f"{view} is shown")
            wide = browser.run("return document.documentElement.scrollWidth")
            assert wide <= width, f"{view or 'overview'} is {wide} wide at {width}"
            browser.picture(out / f"{name}-{view.split('/')[0] or 'overview'}.png")
        assert browser.run("return document.documentElement.dataset.theme") == theme
    browser.devtools("Emulation.clearDeviceMetricsOverride")
    browser.devtools("Emulation.setEmulatedMedia", features=[])


def test_report_opens_from_disk(browser: Browser, followed: Path, home: Path) -> None:
    made = [MONKEYS, "report", str(followed), "-o", "report.html"]
    subprocess.run(made, cwd=home, env=environment(home), check=True, capture_output=True)
    load(browser, (home / "report.html").as_uri())
    assert len(rows(browser)) == len(TASKS)
    browser.run("document.querySelector('#grid .cell').click()")
    browser.wait("document.querySelector('pre.numbered') !== null", "the task is shown")


def hostile_run(home: Path) -> Path:
    """Replies, a plan and the name of a task that try to become a part of the page."""
    folder = home / "odd" / "starter"
    folder.mkdir(parents=True)
    (folder / f"{EVIL}.py").write_bytes((ROOT / "tasks/starter/01_swish.py").read_bytes())
    lines = [{"cassette": 1, "model": "told", "date": "", "note": ""}]
    for stage in ("plan", "code"):
        key = {"task": f"starter/{EVIL}", "method": "monkeys", "stage": stage, "attempt": 1}
        usage = {"input": 1, "cached": 0, "output": 1, "reasoning": 0}
        lines.append({"key": key, "prompt": "0" * 64, "text": HOSTILE, "finish": "stop", "usage": usage})
    (home / "odd.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    made = [
        MONKEYS, "run", "--dsl", "c-cpu", "--device", "cpu", "--tasks", "odd/starter", "--force",
        "--attempts", "1", "--cassette", "odd.jsonl", "--out", "odd-run",
    ]  # fmt: skip
    subprocess.run(made, cwd=home, env=environment(home), check=True, capture_output=True)
    return home / "odd-run"


def test_what_a_model_wrote_is_text(browser: Browser, home: Path) -> None:
    odd = hostile_run(home)
    server = Program(home, "serve", "--listen", "127.0.0.1:0", str(odd))
    made = [MONKEYS, "report", str(odd), "-o", "odd.html"]
    subprocess.run(made, cwd=home, env=environment(home), check=True, capture_output=True)
    for url in (server.url, (home / "odd.html").as_uri()):
        load(browser, url)
        assert rows(browser) == [f"starter/{EVIL}"]
        assert browser.run("return document.querySelector('[data-card=workers]')") is None
        browser.run("document.querySelector('#grid .cell').click()")
        browser.wait("document.querySelector('pre.numbered') !== null", "the task is shown")
        browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        shown = browser.text("#main")
        assert f"<script>owned=1</script>{EVIL}" in shown
        assert "\u202e" not in shown and "\x1b" not in shown and "U+202E" in shown
        assert browser.run("return typeof owned") == "undefined"
        assert browser.run("return document.querySelectorAll('#main img, #main script').length") == 0
    browser.open("about:blank")
    assert server.end() == 0
