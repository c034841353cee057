"""Looks at a report as a browser would, and prints what a test asks for.

    look.py FILE EXPRESSION

The expression may use `o` (the data), `size` (of the file) and `problems`: what must not be in a
page that is complete and safe, an empty list otherwise.
"""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

ADDRESSES = {"src", "href", "action", "data", "srcset", "poster", "background", "formaction"}
ELEMENTS = {"link", "img", "iframe", "object", "embed", "form", "base", "audio", "video"}


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.data = self.policy = ""
        self.into: str | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag in ELEMENTS:
            self.problems.append(f"element {tag}")
        for name, value in attributes:
            if name.startswith("on") or name == "style":
                self.problems.append(f"attribute {name}")
            if name in ADDRESSES and not (value or "").startswith("#"):
                self.problems.append(f"address {value}")
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""
        is_data = values.get("type") == "application/json"
        self.into = "data" if is_data else tag if tag in self.texts else None

    def handle_data(self, data: str) -> None:
        if self.into == "data":
            self.data += data
        elif self.into:
            self.texts[self.into].append(data)

    def handle_endtag(self, tag: str) -> None:
        self.into = None


def source(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main() -> None:
    text = Path(sys.argv[1]).read_text()
    page = Page()
    page.feed(text)
    problems = page.problems
    for kind, texts in page.texts.items():
        if len(texts) != 1:
            problems.append(f"{len(texts)} of {kind}")
        elif f"{kind}-src {source(texts[0])};" not in page.policy:
            problems.append(f"the policy does not name the {kind}: {page.policy}")
    if "default-src 'none'" not in page.policy or "connect-src 'none'" not in page.policy:
        problems.append(f"the policy allows requests: {page.policy}")
    own = "".join(page.texts["script"] + page.texts["style"])
    problems += [f"address {a}" for a in re.findall(r"https?://\S+", own) if "www.w3.org/2000/svg" not in a]
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        if word in own:
            problems.append(word)
    problems += [f"the data holds {c!r}" for c in "<>&\u2028\u2029" if c in page.data]
    names = {"o": json.loads(page.data or "null"), "size": len(text.encode()), "problems": problems}
    print(eval(sys.argv[2], names))  # noqa: S307


main()
