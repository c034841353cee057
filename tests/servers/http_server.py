"""A small HTTP server for the tests of src/io/http.c.

Listens on a port of 127.0.0.1 that the kernel chooses and prints its number.
With two arguments, a certificate and its key, it speaks TLS. It never sleeps:
where a test needs an order of events, one request waits for another.
"""

import http.server
import ssl
import sys
import threading
import time
from email.utils import formatdate
from urllib.parse import unquote


class State:
    """What requests know of each other."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.connections = 0
        self.waiting = 0  # requests at a barrier
        self.gathered = 0  # requests at another
        self.released = False
        self.held = 0  # requests that wait for their client to hang up
        self.gone = 0  # those whose client did
        self.dropped = 0  # requests read whole and not answered

    def wait_for(self, done) -> None:
        with self.changed:
            self.changed.wait_for(done, timeout=300)

    def set(self, name: str, value) -> None:
        with self.changed:
            setattr(self, name, value)
            self.changed.notify_all()

    def add(self, name: str) -> None:
        with self.changed:
            setattr(self, name, getattr(self, name) + 1)
            self.changed.notify_all()


STATE = State()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        STATE.add("connections")

    def log_message(self, format: str, *args) -> None:
        pass

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def respond(self) -> None:
        name, _, rest = self.path.lstrip("/").partition("/")
        if name == "hangup":  # before the body is read
            self.close_connection = True
            return
        length = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(length)
        if self.path.startswith("http://"):  # we are asked as a proxy
            self.answer(b"proxied " + self.path.encode())
            return
        action = getattr(self, "get_" + name, None)
        if action is None:
            self.answer(b"no such page", 404)
        else:
            action(rest)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = respond

    def get_echo(self, rest: str) -> None:
        """The request as it came: line, headers by name, body."""
        lines = [f"{self.command} {self.path}"]
        lines += sorted(f"{k.lower()}: {v}" for k, v in self.headers.items())
        self.answer("\n".join(lines).encode() + b"\n\n" + self.body)

    def get_status(self, rest: str) -> None:
        self.answer(b"status " + rest.encode(), int(rest), Retry_After="7")

    def get_retry(self, rest: str) -> None:
        """503 that asks to wait: NAME/VALUE, or seconds from now as a date."""
        name, _, value = rest.partition("/")
        if name == "date":
            name, value = "Retry-After", formatdate(time.time() + int(value), usegmt=True)
        self.answer(b"", 503, **{name: unquote(value)})

    def get_drop(self, rest: str) -> None:
        """Reads the request whole, and hangs up."""
        STATE.add("dropped")
        self.close_connection = True

    def get_dropped(self, rest: str) -> None:
        self.answer(str(STATE.dropped).encode())

    def get_redirect(self, rest: str) -> None:
        self.answer(b"over there", 302, Location="/echo")

    def get_connections(self, rest: str) -> None:
        self.answer(str(STATE.connections).encode())

    def get_large(self, rest: str) -> None:
        self.answer(b"x" * int(rest))

    def get_drip(self, rest: str) -> None:
        """Chunks; the second one only when the first has been heard of."""
        self.send_response(int(rest or 200))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.chunk(b"first,")
        STATE.wait_for(lambda: STATE.released)
        self.chunk(b"second,")
        self.chunk(b"third")
        self.wfile.write(b"0\r\n\r\n")

    def get_release(self, rest: str) -> None:
        STATE.set("released", True)
        self.answer(b"")

    def get_barrier(self, rest: str) -> None:
        """Answers when this many requests wait here."""
        STATE.add("waiting")
        STATE.wait_for(lambda: STATE.waiting >= int(rest))
        self.answer(b"together")

    def get_gather(self, rest: str) -> None:
        """A barrier of its own."""
        STATE.add("gathered")
        STATE.wait_for(lambda: STATE.gathered >= int(rest))
        self.answer(b"together")

    def get_cut(self, rest: str) -> None:
        """Promises 1,000 bytes, sends 10, hangs up."""
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"0123456789")
        self.close_connection = True

    def get_nonsense(self, rest: str) -> None:
        self.wfile.write(b"this is not HTTP at all\r\n\r\n")
        self.close_connection = True

    def get_never(self, rest: str) -> None:
        """Says nothing until the client hangs up."""
        self.rfile.read(1)
        self.close_connection = True

    def get_half(self, rest: str) -> None:
        """A part of the answer, then nothing."""
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"0123456789")
        self.get_never(rest)

    def get_hold(self, rest: str) -> None:
        """As never, and others can ask how it went."""
        STATE.add("held")
        self.get_never(rest)
        STATE.add("gone")

    def get_held(self, rest: str) -> None:
        """Answers when a request is held."""
        STATE.wait_for(lambda: STATE.held > 0)
        self.answer(str(STATE.held).encode())

    def get_gone(self, rest: str) -> None:
        """Answers when the client of a held request has hung up."""
        STATE.wait_for(lambda: STATE.gone > 0)
        self.answer(str(STATE.gone).encode())


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        pass  # clients that hang up are what this is for


def main() -> None:
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) == 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
