"""A candidate's source as a module."""

import importlib.util
import os
import sys
from types import ModuleType


def load_module(source: str, path: str) -> ModuleType:
    """The source as a real file under a name in sys.modules: decorators that read their own
    source and string annotations both need that."""
    name = os.path.basename(path).removesuffix(".py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
