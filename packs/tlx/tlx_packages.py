"""Makes the Triton importable that `./setup pack tlx` installed: TLX is part of a fork of
Triton, which has an environment of its own, .venv-tlx beside packs/. There it comes before
the Triton of Python itself. Where it is missing, whatever Python has is used."""

import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(
    _ROOT, ".venv-tlx", "lib", f"python3.{sys.version_info.minor}", "site-packages"
)


def add() -> None:
    if os.path.isdir(os.path.join(FOLDER, "triton")) and FOLDER not in sys.path:
        sys.path.insert(0, FOLDER)
