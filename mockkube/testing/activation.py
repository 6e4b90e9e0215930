"""Set KUBECONFIG of this process, for controllers under test that run in it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

VARIABLE: Final = "KUBECONFIG"
_READ_AT_IMPORT: Final = ("kubernetes.config.kube_config", "kubernetes_asyncio.config.kube_config")
_CONSTANT: Final = "KUBE_CONFIG_DEFAULT_LOCATION"


@contextmanager
def activate(path: str) -> Iterator[None]:
    """Make every client in this process find this kubeconfig until the block ends."""
    before = os.environ.get(VARIABLE)
    # The official clients copy the variable into a constant when they are imported, so that one is changed, too.
    modules = [sys.modules[name] for name in _READ_AT_IMPORT if name in sys.modules]
    constants = [getattr(module, _CONSTANT) for module in modules]
    os.environ[VARIABLE] = path
    for module in modules:
        setattr(module, _CONSTANT, path)
    try:
        yield
    finally:
        for module, constant in zip(modules, constants, strict=True):
            setattr(module, _CONSTANT, constant)
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
