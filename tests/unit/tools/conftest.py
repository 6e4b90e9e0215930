"""Tools are scripts outside of any package: these tests load them by their path."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.fixture(scope="session")
def load_tool() -> Callable[[str], ModuleType]:
    """Return a function that imports a script of tools/ by its name."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
