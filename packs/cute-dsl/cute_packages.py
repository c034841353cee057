"""Makes the packages importable that `./setup pack cute-dsl` installed: they have an
environment of their own, .venv-cute-dsl beside packs/, which holds no torch. Where it is
missing, whatever Python itself has is used."""

import os
import site
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(
    _ROOT, ".venv-cute-dsl", "lib", f"python3.{sys.version_info.minor}", "site-packages"
)


def add() -> None:
    if os.path.isdir(FOLDER) and FOLDER not in sys.path:
        site.addsitedir(FOLDER)
