"""Strings that tokenizers disagree on: generated, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

SPECIALS = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
    "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>",
    "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>",
    "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
    "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>",
]  # fmt: skip

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000"
WORDS = (
    "import torch nn def forward self x return class Model __init__ super tl load store mask "
    "BLOCK_SIZE pid offs ptr constexpr __global__ void float4 threadIdx blockIdx uint32_t "
    "grid num_warps kernel softmax matmul is not I don't we'll they've THEY'RE she'd O'Neil"
).split()
SIGNS = "()[]{}<>=+-*/%&|^~!?.,;:@#$_'\"`\\"
# Latin, Greek, Cyrillic, Arabic, Indic, Thai, Tibetan, Georgian, Hangul, Khmer, kana, Han, and
# scripts of later versions of Unicode.
BLOCKS = [
    (0x00A1, 0x024F), (0x0250, 0x02FF), (0x0370, 0x052F), (0x0531, 0x058F), (0x0591, 0x05F4),
    (0x0600, 0x06FF), (0x0700, 0x08FF), (0x0900, 0x0DF4), (0x0E01, 0x0E5B), (0x0E81, 0x0EFF),
    (0x0F00, 0x0FDA), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x139F),
    (0x13A0, 0x167F), (0x1700, 0x18FF), (0x1AB0, 0x1CFF), (0x1D00, 0x1FFF), (0x2000, 0x2BFF),
    (0x2C00, 0x2FFF), (0x3000, 0x33FF), (0x3400, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7FF),
    (0xF900, 0xFDFF), (0xFE00, 0xFFFF), (0x10000, 0x10FFF), (0x11000, 0x11FFF),
    (0x12000, 0x145FF), (0x16000, 0x18FFF), (0x1D000, 0x1EEFF), (0x1F000, 0x1FBFF),
    (0x20000, 0x323AF), (0xE0000, 0xE01EF), (0xF0000, 0xF0010),
]  # fmt: skip
MARKS = [(0x0300, 0x036F), (0x0483, 0x0487), (0x0591, 0x05BD), (0x064B, 0x065F), (0x0898, 0x08FF),
         (0x093C, 0x094D), (0x09BE, 0x09D7), (0x0F71, 0x0F84), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF),
         (0x20D0, 0x20F0), (0x3099, 0x309A), (0x10F46, 0x10F50), (0x11127, 0x11134),
         (0x1D165, 0x1D172), (0x1E130, 0x1E136)]  # fmt: skip
EMOJI = ["😀", "🚀", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "😶‍🌫️", "❤️", "✅", "🏳️‍🌈", "🦙", "1️⃣", "🫠"]
NUMBERS = "0123456789²³½¾٣९௧Ⅷ①㉈𝟘𞥐"

# What a public set of vectors for Qwen2 asks about, in our own words: empty text, white space
# alone, words with and without a space, digits of every length, accents, scripts, emoji.
CASES = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n", "\t\n", " \n", "\r\n", " \r\n \r", "\n =",
    "Hello world", " Hello world", "Hello World", " Hello World!", "Hello, world!", "hello  world",
    "    four spaces", "\n\t code", "a\n\n  b", "grün ½ mile", "Übergröße", "Cửa hàng", "' era",
    "это просто текст", "ប្រទេសកម្ពុជា", "한국어 문장", "日本語の文。", "हिन्दी", "🦙.cpp and 😶‍🌫️ ✅",
    "x048 7abc", "!!!!!!", "?!..", "I'm he's WE'LL they'VE y'all 'tis", "3", "33", "333", "3333",
    "33333333333", "1,234.56e-7", "a_b__c", "don't", "DON'T", "it\u2019s", "x\u0301", "e\u0301",
    "\u1100\u1161\u11a8", "\u212b", "\u0344", "<|im_end|>\u0338", "<think>\n\n</think>\n\n",
    "'\u017f", "'\u017ft", "'\u212a", "'\ufb05", "'s", "'S", "'ſs", "a'\u017fx", "'re'RE'rE'Re",
    "'l", "'ll", "'lL", "'r", "'v", "''s", " 's", "'st", "\u00a0word", "\u3000字", "a\u2028b",
    "a" * 1000, "=" * 700, " " * 300, " " * 300 + "x", "\n" * 257, "ab" * 400, "\t" * 99 + "\ny",
    "\ud55c\u0301" * 40, "e" + "\u0316\u0301" * 60, "<|im_start", "<<|im_end|>>", "<think",
]  # fmt: skip


def point(r: random.Random, blocks: list[tuple[int, int]]) -> str:
    first, last = r.choice(blocks)
    return chr(r.randint(first, last))


def code(r: random.Random) -> str:
    lines = []
    for _ in range(r.randint(1, 6)):
        parts = []
        for _ in range(r.randint(1, 9)):
            parts.append(r.choice([r.choice(WORDS), r.choice(SIGNS) * r.randint(1, 3),
                                   str(r.randint(0, 99999))]))  # fmt: skip
            parts.append(r.choice(["", "", " ", "  "]))
        lines.append(r.choice(["", " ", "    ", "\t", " \t "]) * r.randint(0, 3) + "".join(parts))
    return r.choice(["\n", "\r\n", "\n\n", " \n"]).join(lines)


def script(r: random.Random) -> str:
    block = [r.choice(BLOCKS)]
    return "".join(r.choice([" ", "", "", ""]) + point(r, block) for _ in range(r.randint(1, 24)))


def mixed(r: random.Random) -> str:
    return "".join(point(r, BLOCKS) for _ in range(r.randint(1, 20)))


def marks(r: random.Random) -> str:
    base = ["a", "e", "o", "\u00e9", "\u1e69", "\u0915", "\u3046", "\u1100", "\u1161", "\uac00", " "]
    out = []
    for _ in range(r.randint(1, 6)):
        out.append(r.choice([*base, point(r, BLOCKS)]))
        out += [point(r, MARKS) for _ in range(r.randint(0, 4))]
    return "".join(out)


def spaces(r: random.Random) -> str:
    out = []
    for _ in range(r.randint(1, 8)):
        out.append(r.choice([r.choice(SPACES) * r.randint(1, 5), r.choice(" \n\t") * r.randint(1, 9)]))
        out.append(r.choice(["", "", "a", "1", "!", "é", "字", "\u0301"]))
    return "".join(out)


def numbers(r: random.Random) -> str:
    return "".join(r.choice(NUMBERS) if r.random() < 0.8 else r.choice(" .,-+exX_")
                   for _ in range(r.randint(1, 25)))  # fmt: skip


def short_forms(r: random.Random) -> str:
    tails = ["s", "t", "re", "ve", "m", "ll", "d", "ſ", "ſt", "l", "r", "v", "K", "\u212a", "x", ""]
    out = []
    for _ in range(r.randint(1, 6)):
        tail = "".join(r.choice([c.lower(), c.upper()]) for c in r.choice(tails))
        quote = r.choice(["'", "'", "'", "''", "\u2019"])
        out.append(r.choice(["I", "we", " they", "é", "9", "!", " ", ""]) + quote + tail)
        out.append(r.choice(["", " ", "a", "s", "\n"]))
    return "".join(out)


def emoji(r: random.Random) -> str:
    return "".join(r.choice([r.choice(EMOJI), r.choice(EMOJI), " ", "a", "\ufe0f", "\u200d", "!"])
                   for _ in range(r.randint(1, 10)))  # fmt: skip


def chats(r: random.Random) -> str:
    return "".join(r.choice([r.choice(SPECIALS), r.choice(SPECIALS)[:-1], "user\n", "\n\n", " x",
                             "\u0301", "<", "|>"]) for _ in range(r.randint(1, 8)))  # fmt: skip


def pieces(r: random.Random) -> str:
    """Parts of all the others, cut anywhere."""
    out = []
    for _ in range(r.randint(2, 5)):
        text = r.choice(FAMILIES[:-1])(r)
        at = r.randint(0, len(text))
        out.append(text[at : at + r.randint(1, 12)])
    return "".join(out)


def bad_bytes(r: random.Random) -> bytes:
    """Bytes that are mostly not UTF-8: cut, overlong, surrogates, beyond the last plane."""
    odd = [b"\x80", b"\xbf", b"\xc0\x80", b"\xc3", b"\xe2\x82", b"\xe0\x80\x80", b"\xed\xa0\x80",
           b"\xf0\x9f\x98", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf8\x88", b"\xff", b"\xfe",
           b"\xe2\x28\xa1", b"\xf1\x80\x41", b"\x00"]  # fmt: skip
    good = [b"word", b" ", b"\n", "é".encode(), "字".encode(), b"'s", b"<|im_end|>", b"1"]
    return b"".join(r.choice(odd if r.random() < 0.5 else good) for _ in range(r.randint(1, 14)))


FAMILIES: list[Callable[[random.Random], str]] = [
    code, script, mixed, marks, spaces, numbers, short_forms, emoji, chats, pieces,
]  # fmt: skip


def strings(count: int, seed: int) -> Iterator[str]:
    r = random.Random(seed)
    yield from CASES
    for i in range(count):
        text = FAMILIES[i % len(FAMILIES)](r)
        yield "".join(c for c in text if not "\ud800" <= c <= "\udfff")


def all_points() -> Iterator[str]:
    """Every code point, between a letter, a digit, a sign, white space and marks."""
    for c in (chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000):
        yield f"a{c}b{c} {c}1{c}\n{c}!{c}{c}\u0316\u0301 '{c}"
