"""What memory holds before a call, where nothing has been written: in a trial, in a timed call and in
a delivered file (ported_parts.py has the text of this function).

A kernel could rely on bytes that it knows: by a NaN it is the first to come, and in a user's memory
there is none, but often zeros, or what others left. So calls take turns in secret. Each kind shows
another mistake: NaN what multiplies by zero, numbers what leaves out NaN (a maximum)."""

import torch

FRESH = 4096  # bytes of a page
TURNS, LOUD = 5, 3  # of these the first so many hardly make anything right that reads them


def fresh_page(turn: int, secret: str) -> torch.Tensor:
    """A page, which repeats itself through all memory."""
    import hashlib

    # Of 16 random bits those that stay, and those that are set: NaN in every floating type; huge
    # numbers; any bits; numbers below 2; zeros.
    keep, put = ((-0x8000, 0x7FFF), (-0x7F80, 0x7F7F), (-1, 0), (-0x7E7F, 0x3E3E), (0, 0))[turn % 5]
    noise = hashlib.shake_128(f"fresh:{secret}:{turn}".encode()).digest(4096)
    return (torch.frombuffer(bytearray(noise), dtype=torch.int16) & keep | put).view(torch.int64)
