"""Browsers of the tests of `monkeys serve`, good and bad ones, over plain sockets.

    talk.py ask URL BYTES           send BYTES (\\r, \\n, \\0 and \\xNN are escapes), print the answer
    talk.py get URL PATH [HEADER…]  status and body of GET PATH; as a status alone with -s first
    talk.py json URL PATH WORD      WORD is evaluated with the answer as `o`
    talk.py events URL N            the first N events of the stream
    talk.py crowd LOG N SEEN        while the run whose error output is in LOG shows itself, N
                                    connections that say nothing or half a request; prints how often
                                    somebody else was answered meanwhile, and how long that took.
                                    SEEN is made when they have been answered three times
"""

import re
import resource
import socket
import sys
import time
from pathlib import Path


def address(url: str) -> tuple[str, int]:
    found = re.fullmatch(r"http://([0-9.]+):(\d+)/", url)
    assert found, url
    return found[1], int(found[2])


def ask(url: str, text: str) -> None:
    data = text.encode().decode("unicode_escape").encode("latin-1")
    with socket.create_connection(address(url), timeout=300) as s:
        s.sendall(data)
        answer = b""
        try:
            while chunk := s.recv(65536):
                answer += chunk
        except ConnectionResetError:  # it did not read all of a request that it refused
            pass
    sys.stdout.write(answer.decode("latin-1").replace("\r\n", "\n"))


def fetch(url: str, path: str, *headers: str) -> tuple[int, bytes]:
    import http.client  # here: `ask` is called often, and starts faster without

    c = http.client.HTTPConnection(*address(url), timeout=300)
    c.request("GET", path, headers=dict(h.split(": ", 1) for h in headers))
    r = c.getresponse()
    status, body = r.status, r.read()
    c.close()
    return status, body


def get(*words: str) -> None:
    short = words[0] == "-s"
    status, body = fetch(*words[short:])
    print(status)
    if not short:
        sys.stdout.flush()
        sys.stdout.buffer.write(body)


def evaluate(url: str, path: str, word: str) -> None:
    import json

    status, body = fetch(url, path)
    print(eval(word, {"o": json.loads(body), "status": status}))


def events(url: str, n: str) -> None:
    with socket.create_connection(address(url), timeout=300) as s:
        s.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        seen, text = 0, b""
        while seen < int(n):
            chunk = s.recv(65536)
            if not chunk:
                break
            text += chunk
            while (end := text.find(b"\n\n")) >= 0:
                event, text = text[:end], text[end + 2 :]
                if found := re.search(rb"event: .*\ndata: .*", event):
                    print(found[0].decode(), flush=True)
                    seen += 1


def crowd(log: str, n: str, seen: str) -> None:
    import http.client

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    while not (found := re.search(r"see the run at (\S+)", Path(log).read_text())):
        time.sleep(0.01)
    url, idle, answered, slowest = found[1], [], 0, 0.0
    try:
        for i in range(int(n)):
            s = socket.create_connection(address(url), timeout=300)
            if i % 2:
                s.sendall(b"GET /api/overview HT")
            idle.append(s)
        while True:
            start = time.monotonic()
            status, _ = fetch(url, "/api/overview")
            slowest = max(slowest, time.monotonic() - start)
            assert status == 200, status
            answered += 1
            if answered == 3:
                Path(seen).touch()
            time.sleep(0.05)
    except (ConnectionError, http.client.HTTPException, TimeoutError):
        pass  # the run has ended, and its page
    print(f"{len(idle)} idle, {'answered' if answered > 2 else f'only {answered} answers'}, "
          f"{'promptly' if slowest < 20 else f'after {slowest:.1f} s'}")


if __name__ == "__main__":
    {"ask": ask, "get": get, "json": evaluate, "events": events, "crowd": crowd}[sys.argv[1]](
        *sys.argv[2:]
    )
