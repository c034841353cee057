"""Makes the packages importable that `./setup pack ID` installed: they have an environment of
their own, .venv-ID beside packs/, which holds no torch. Where it is missing, whatever Python
itself has is used."""

import os
import site
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def folder(pack: str) -> str:
    minor = f"python3.{sys.version_info.minor}"
    return os.path.join(_ROOT, f".venv-{pack}", "lib", minor, "site-packages")


def add(pack: str, instead_of: str = "") -> None:
    """Behind what Python has; in front of it where the pack brings its own `instead_of`."""
    found = folder(pack)
    if not os.path.isdir(os.path.join(found, instead_of)) or found in sys.path:
        return
    if instead_of:
        sys.path.insert(0, found)
    else:
        site.addsitedir(found)
