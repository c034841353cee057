"""A model's server for tests and benchmarks: chat completions, messages and
embeddings, and whatever can go wrong with them.

    server.py [--log FILE] [--tls CERT KEY]

Listens on a port of 127.0.0.1 that the kernel chooses and prints its number.
Every request is written to the log as a line of JSON before it is answered.

How a request is answered is said by words behind the model's name, or in front
of the path: "any+status=429+retry-after=7" or /fault/status=429/v1/….

  delay=S          answer after S seconds           text=N      an answer of N bytes
  status=N         with a complaint about `about`   about=TEXT  …
  type=WORD, code=WORD                              of the complaint
  retry-after=X, retry-after-ms=X                   never       no answer at all
  hangup           close after the request          half        a part of the answer, then nothing
  cut=N            close after N events (stream) or bytes
  split=N          writes of N bytes                drip=S      S seconds between them
  large=N          a body of N bytes                body=TEXT   this body
  raw=%XX…         these bytes                      echo        the complaint repeats the key
  html             a page for browsers
  late-error       a complaint within the stream    times=N     only the first N requests of this kind
  finish=WORD      why it ended                     thought=N   some thoughts of N bytes
  nul              NULs for exclamation marks (stream)
  no-usage no-done no-finish plain (a whole answer though a stream was asked for)
  reverse short double uneven (embeddings), value=TEXT (a number of them)
"""

import asyncio
import json
import ssl
import sys
from collections import Counter
from urllib.parse import unquote, unquote_to_bytes

TEXT = "Grüße, 猴子 🐒! "  # characters of two, three and four bytes
REASON = {200: "OK", 429: "Too Many Requests", 529: "Overloaded"}

LOG = None
SEEN: Counter = Counter()


def filled(text: str, size: int) -> str:
    """`text` repeated to about `size` bytes, in whole characters."""
    raw = text.encode()
    raw = (raw * (size // len(raw) + 1))[:size]
    return raw.decode(errors="ignore")


def parse_words(text: str, separator: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in text.split(separator) if word)
    return {name: value if name == "raw" else unquote(value) for name, _, value in pairs}


class Request:
    """One request, and what is wanted of its answer."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.headers = headers
        self.words: dict[str, str] = {}
        if path.startswith("/fault/"):
            words, _, rest = path[7:].partition("/v1/")
            self.words |= parse_words(words, "/")
            path = "/v1/" + rest
        self.path = path
        try:
            self.body = json.loads(body)
        except ValueError:
            self.body = {}
        self.model, _, words = str(self.body.get("model", "")).partition("+")
        self.words |= parse_words(words, "+")
        self.stream = self.body.get("stream", False) and "plain" not in self.words
        times = self.words.get("times")
        if times:
            name = json.dumps([self.model, self.words])
            SEEN[name] += 1
            if SEEN[name] > int(times):
                self.words = {}

    def number(self, name: str, otherwise: float = 0) -> float:
        return float(self.words.get(name, otherwise))

    def log(self, text: str) -> None:
        line = {"path": text, "headers": self.headers, "body": self.body}
        LOG.write(json.dumps(line) + "\n")
        LOG.flush()


# ---- answers -----------------------------------------------------------------


def texts(r: Request) -> tuple[str, str]:
    text = filled(TEXT, int(r.words["text"])) if "text" in r.words else TEXT * 3
    return text, filled("hmm, ", int(r.number("thought")))


def pieces(text: str, count: int = 8) -> list[str]:
    size = max(1, -(-len(text) // count))
    return [text[i : i + size] for i in range(0, len(text), size)]


def openai_usage(r: Request) -> dict:
    return {
        "prompt_tokens": 100,
        "completion_tokens": 40,
        "total_tokens": 140 + int(r.number("uncounted")),
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }


def openai_whole(r: Request) -> dict:
    text, thought = texts(r)
    message = {"role": "assistant", "content": text}
    if thought:
        message[r.words.get("field", "reasoning_content")] = thought
    if "refusal" in r.words:
        message |= {"content": None, "refusal": r.words["refusal"]}
    if "parts" in r.words:
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}
        message["content"] = [thinking, {"type": "text", "text": text}]
    choice = {"index": 0, "message": message, "finish_reason": r.words.get("finish", "stop")}
    answer = {"object": "chat.completion", "model": r.model + "-2026", "choices": [choice]}
    if "no-usage" not in r.words:
        answer["usage"] = openai_usage(r)
    return answer


def openai_events(r: Request) -> list[bytes]:
    text, thought = texts(r)
    field = r.words.get("field", "reasoning_content")
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{field: t} for t in pieces(thought)] + [{"content": t} for t in pieces(text)]
    choices = [{"index": 0, "delta": d, "finish_reason": None} for d in deltas]
    if "no-finish" not in r.words:
        choices.append({"index": 0, "delta": {}, "finish_reason": r.words.get("finish", "stop")})
    head = {"object": "chat.completion.chunk", "model": r.model + "-2026"}
    events = [head | {"choices": [c], "usage": None} for c in choices]
    if "no-usage" not in r.words and r.body.get("stream_options", {}).get("include_usage"):
        events.append(head | {"choices": [], "usage": openai_usage(r)})
    if "late-error" in r.words:
        events[3:] = [{"error": complaint(r)}]
    lines = [json.dumps(e, ensure_ascii=False) for e in events]
    if "nul" in r.words:
        lines = [t.replace("!", "\\u0000") for t in lines]
    if "no-done" not in r.words:
        lines.append("[DONE]")
    return [b": keep-alive\n\n"] + [f"data: {t}\n\n".encode() for t in lines]


def anthropic_usage(output: int) -> dict:
    return {
        "input_tokens": 20,
        "cache_read_input_tokens": 64,
        "cache_creation_input_tokens": 16,
        "output_tokens": output,
    }


def anthropic_whole(r: Request) -> dict:
    text, thought = texts(r)
    content = [{"type": "thinking", "thinking": thought, "signature": "x"}] if thought else []
    answer = {
        "type": "message",
        "role": "assistant",
        "model": r.model + "-2026",
        "content": content + [{"type": "text", "text": text}],
        "stop_reason": r.words.get("finish", "end_turn"),
    }
    if "no-usage" not in r.words:
        answer["usage"] = anthropic_usage(40)
    return answer


def anthropic_events(r: Request) -> list[bytes]:
    text, thought = texts(r)
    message = {"type": "message", "role": "assistant", "model": r.model + "-2026", "content": []}
    message |= {"stop_reason": None, "usage": anthropic_usage(1)}
    events: list[dict] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    blocks = [("thinking", thought)] if thought else []
    for index, (kind, whole) in enumerate(blocks + [("text", text)]):
        start = {"type": kind, kind: ""}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        for part in pieces(whole):
            delta = {"type": kind + "_delta", kind: part}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    if "no-finish" not in r.words:
        delta = {"stop_reason": r.words.get("finish", "end_turn")}
        usage = {"output_tokens": 40}
        events.append({"type": "message_delta", "delta": delta, "usage": usage})
    if "late-error" in r.words:
        events[4:] = [{"type": "error", "error": complaint(r)}]
    elif "no-done" not in r.words:
        events.append({"type": "message_stop"})
    dump = [(e["type"], json.dumps(e, ensure_ascii=False)) for e in events]
    return [f"event: {t}\r\ndata: {d}\r\n\r\n".encode() for t, d in dump]


def embeddings(r: Request) -> dict:
    """Each text's vector is its length, its first and its last character."""
    given = r.body["input"]
    vectors = [[len(t), ord(t[0]) / 1000, ord(t[-1]) / 1000] for t in given]
    if "value" in r.words:
        vectors[0][0] = "VALUE"
    if "uneven" in r.words:
        vectors[-1].append(1.0)
    rows = [{"index": i, "embedding": v} for i, v in enumerate(vectors)]
    if "double" in r.words:
        rows[-1]["index"] = 0
    if "reverse" in r.words:
        rows.reverse()
    if "short" in r.words:
        rows.pop()
    usage = {"prompt_tokens": sum(len(t) for t in given)}
    return {"object": "list", "data": rows, "model": r.model, "usage": usage}


def complaint(r: Request) -> dict:
    about = r.words.get("about", "busy, see https://example.invalid/help")
    if "echo" in r.words:
        about += " " + " ".join(r.headers.get(n, "") for n in ("authorization", "x-api-key"))
    kind, code = r.words.get("type", "some_error"), r.words.get("code", "some_code")
    return {"message": about, "type": kind, "param": None, "code": code}


def whole_body(r: Request) -> bytes:
    if "body" in r.words:
        return r.words["body"].encode()
    if "raw" in r.words:
        return unquote_to_bytes(r.words["raw"])
    if "html" in r.words:
        return b"<html><body>Bad gateway</body></html>"
    if "status" in r.words:
        return json.dumps({"error": complaint(r)}).encode()
    if "large" in r.words:
        return b"x" * int(r.words["large"])
    if r.path.endswith("/embeddings"):
        text = json.dumps(embeddings(r))
        return text.replace('"VALUE"', r.words.get("value", "")).encode()
    whole = anthropic_whole if r.path.endswith("/messages") else openai_whole
    return json.dumps(whole(r), ensure_ascii=False).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Answer:
    """Bytes to write, and whether the connection ends with them."""

    def __init__(self, r: Request) -> None:
        status = int(r.number("status", 200))
        streamed = r.stream and status == 200 and not {"body", "raw", "large", "html"} & r.words.keys()
        kind = "text/event-stream" if streamed else "application/json"
        if "html" in r.words:
            kind = "text/html; charset=utf-8"
        head = [f"HTTP/1.1 {status} {REASON.get(status, 'Status')}", f"Content-Type: {kind}"]
        head += [f"{n}: {r.words[n]}" for n in ("retry-after", "retry-after-ms") if n in r.words]
        self.close = "cut" in r.words
        self.stay = "half" in r.words
        if streamed:
            events = (anthropic_events if r.path.endswith("/messages") else openai_events)(r)
            if self.close:
                events = events[: int(r.words["cut"])]
            self.body = b"".join(events)
            head.append("Transfer-Encoding: chunked")
        else:
            self.body = whole_body(r)
            head.append(f"Content-Length: {len(self.body)}")
            if self.close:
                self.body = self.body[: int(r.words["cut"])]
        if self.stay:
            self.body = self.body[: len(self.body) // 2]
        self.head = "\r\n".join(head).encode() + b"\r\n\r\n"
        self.streamed = streamed
        self.step = int(r.number("split")) or len(self.body) or 1
        self.drip = r.number("drip", -1)

    def writes(self):
        whole = self.close or self.stay
        if not self.streamed and self.step >= len(self.body):
            yield self.head + self.body
            return
        yield self.head
        for i in range(0, len(self.body), self.step):
            part = self.body[i : i + self.step]
            yield chunk(part) if self.streamed else part
        if self.streamed and not whole:
            yield b"0\r\n\r\n"


# ---- connections -------------------------------------------------------------


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.data = bytearray()
        self.busy = False
        self.task = None
        self.loop = asyncio.get_running_loop()

    def connection_made(self, transport) -> None:
        self.transport = transport

    def connection_lost(self, exc) -> None:
        if self.task:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.data += data
        if not self.busy:
            self.next_request()

    def next_request(self) -> None:
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return
        first, *rest = self.data[:end].decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in rest)
        headers = {n.strip().lower(): v.strip() for n, _, v in pairs}
        length = int(headers.get("content-length", 0))
        if len(self.data) < end + 4 + length:
            return
        body = bytes(self.data[end + 4 : end + 4 + length])
        del self.data[: end + 4 + length]
        self.busy = True
        path = first.split(" ")[1]
        request = Request(path, headers, body)
        if LOG:
            request.log(path)
        self.loop.call_later(request.number("delay"), self.answer, request)

    def answer(self, r: Request) -> None:
        if "never" in r.words or self.transport.is_closing():
            return
        if "hangup" in r.words:
            self.transport.close()
            return
        answer = Answer(r)
        if answer.drip >= 0:
            self.task = self.loop.create_task(self.drip(answer))
            return
        for data in answer.writes():
            self.transport.write(data)
        self.end(answer)

    async def drip(self, answer: Answer) -> None:
        for data in answer.writes():
            self.transport.write(data)
            await asyncio.sleep(answer.drip)
        self.end(answer)

    def end(self, answer: Answer) -> None:
        if answer.close:
            self.transport.close()
        elif not answer.stay:
            self.busy = False
            self.next_request()


async def main() -> None:
    global LOG
    args = sys.argv[1:]
    context = None
    while args:
        if args[0] == "--log":
            LOG = open(args[1], "a", encoding="utf-8")
            args = args[2:]
        elif args[0] == "--tls":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(args[1], args[2])
            args = args[3:]
        else:
            sys.exit(__doc__)
    server = await asyncio.get_running_loop().create_server(
        Connection, "127.0.0.1", 0, ssl=context, backlog=2048
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
