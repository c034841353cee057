"""Chromium without a window, driven over the WebDriver protocol: a JSON object over HTTP for each
step, so that no library is needed. Console messages and requests come from its logs."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's name for a reference
WAIT_S = 300  # for a busy machine; nothing takes that long when all is well
KEYS = {"Enter": "\ue007", "Tab": "\ue004", "Space": "\ue00d"}


class WebDriverError(Exception):
    pass


def call(url: str, method: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    ask = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(ask, timeout=WAIT_S) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as e:
        raise WebDriverError(json.load(e)["value"]["message"]) from None


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Browser:
    def __init__(self) -> None:
        self.home = tempfile.TemporaryDirectory(prefix="monkeys-browser-")
        port = free_port()
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}", "--log-level=OFF"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": self.home.name},
        )
        root = f"http://127.0.0.1:{port}"
        until(lambda: self.is_ready(root), "chromedriver starts")
        options = [
            "--headless=new",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1200,900",
            f"--user-data-dir={self.home.name}/profile",
            *(["--no-sandbox", "--disable-dev-shm-usage"] if os.geteuid() == 0 else []),
        ]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": "/usr/bin/chromium", "args": options},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        asked = {"capabilities": {"alwaysMatch": wanted}}
        self.session = f"{root}/session/{call(f'{root}/session', 'POST', asked)['sessionId']}"
        self.open("about:blank")
        self.log("performance")  # the browser's own start page

    @staticmethod
    def is_ready(root: str) -> bool:
        try:
            return bool(call(f"{root}/status", "GET")["ready"])
        except OSError:
            return False

    def close(self) -> None:
        try:
            call(self.session, "DELETE")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.home.cleanup()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return call(f"{self.session}/{path}", "POST", body)

    def open(self, url: str) -> None:
        self.post("url", {"url": url})

    def run(self, script: str, *args: Any) -> Any:
        """The value of a function body in the page."""
        return self.post("execute/sync", {"script": script, "args": list(args)})

    def find(self, selector: str) -> str:
        found = self.post("element", {"using": "css selector", "value": selector})
        return str(found[ELEMENT])

    def click(self, selector: str) -> None:
        self.post(f"element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self.post(f"element/{self.find(selector)}/value", {"text": KEYS.get(text, text)})

    def press(self, *keys: str) -> None:
        """Keys for whatever has the focus."""
        actions = [
            {"type": kind, "value": KEYS[key]} for key in keys for kind in ("keyDown", "keyUp")
        ]
        self.post("actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def devtools(self, command: str, **params: Any) -> Any:
        return self.post("goog/cdp/execute", {"cmd": command, "params": params})

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What was logged since the last call."""
        return list(self.post("se/log", {"type": kind}))

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(call(f"{self.session}/screenshot", "GET")))

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def wait(self, script: str, what: str) -> Any:
        """Until the expression is true; its value."""
        return until(lambda: self.run(f"return {script}"), what)


def until(test: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        value = test()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {WAIT_S} s: {what}")
