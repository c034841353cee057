"""Just enough of an HTTP/2 server to see whether requests share connections.

    http2_server.py CERT KEY N

Listens on a port of 127.0.0.1 that the kernel chooses and prints its number.
It answers nobody until N requests wait, over however many connections, and then
everybody with the number of connections. Requests are not decoded.
"""

import asyncio
import ssl
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
ACK = END_STREAM = 1
END_HEADERS = 4
STATUS_200 = b"\x88"  # HPACK: entry 8 of the static table


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    head = len(payload).to_bytes(3, "big") + bytes([kind, flags])
    return head + stream.to_bytes(4, "big") + payload


class Server:
    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.connections = 0
        self.waiting: list[tuple[asyncio.StreamWriter, int]] = []

    def answer_all(self) -> None:
        body = str(self.connections).encode()
        for writer, stream in self.waiting:
            writer.write(frame(HEADERS, END_HEADERS, stream, STATUS_200))
            writer.write(frame(DATA, END_STREAM, stream, body))
        self.waiting.clear()

    async def frames(self, reader, writer) -> None:
        assert await reader.readexactly(len(PREFACE)) == PREFACE
        writer.write(frame(SETTINGS, 0, 0))
        while True:
            head = await reader.readexactly(9)
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            kind, flags = head[3], head[4]
            stream = int.from_bytes(head[5:], "big")
            if kind in (SETTINGS, PING) and not flags & ACK:
                reply = payload if kind == PING else b""
                writer.write(frame(kind, ACK, 0, reply))
            elif kind == HEADERS:
                self.waiting.append((writer, stream))
            if len(self.waiting) >= self.wanted:
                self.answer_all()

    async def connection(self, reader, writer) -> None:
        self.connections += 1
        try:
            await self.frames(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            writer.close()


async def main() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2"])
    server = await asyncio.start_server(
        Server(int(sys.argv[3])).connection, "127.0.0.1", 0, ssl=context
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
