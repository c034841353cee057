"""probe.py: prints how far this machine gets with the pack, by doing it."""
from __future__ import annotations

import ctypes
import importlib.util
import tempfile

PROGRAM = """
scroll probe(well xs: f32[nn], basin ys: f32[nn], count nn)
    letters i = 4
    pour xs[i] -> xt
    pour sqrt(xt) -> ys[i]
end
"""


def probe() -> str:
    try:
        import quill  # noqa: F401  (brings the way to the rest)
        import adapter

        from shared import native, translation

        request = native.calls(PROGRAM, [("probe", "ppi")])
        built = adapter.compile(translation.translated(request, adapter.translate))
    except Exception as error:
        return f"checks: no scroll can be built: {first_line(error)}"
    native.map_room()
    given = run(built.partition(b"\n")[2])
    if given != [2.0, 3.0]:
        return f"compile: a scroll ran and gave {given} instead of [2.0, 3.0]"
    if importlib.util.find_spec("torch") is None:
        return "compile: a scroll was translated, built by cc and run, but torch is missing"
    return "run: a scroll was translated, built by cc and run, and torch is there"


def run(library: bytes) -> list[float]:
    x, y = (ctypes.c_float * 2)(4.0, 9.0), (ctypes.c_float * 2)()
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        ctypes.CDLL(file.name).probe(x, y, ctypes.c_int64(2))
    return list(y)


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


if __name__ == "__main__":
    print(probe())
