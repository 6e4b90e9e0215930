"""Environment of a run on other machines: proposals and files of the machine where the command was typed."""

import json
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import Distribution, entry_points
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, Final

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.distributed.code_version import CodeVersion, read_code_version
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.loading import ENTRY_POINT_GROUP, ENVIRONMENT_VARIABLE, load_file, proposal_files
from mockkube.proposals.proposal import Proposal

# Every task carries its files, so that a worker that joins late has them: a limit keeps out whole repositories.
FILES_BYTES_MAX: Final = 32 << 20
# Folder for distributions with proposals, below the root of a process.
_SITE: Final = ".site-packages"
_SKIPPED_FOLDERS: Final = ("__pycache__", "node_modules")

# Root directory of this process's files, if it plays for another machine.
_ROOT: Final[list[Path]] = []


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """A file of another machine."""

    # Absolute there; of a distribution: relative to the folder of packages.
    path: str
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """Code, working directory and proposals that all calls of a run share."""

    # Distinguishes runs, so that no process keeps files of an earlier one.
    run: str
    code: CodeVersion
    directory: str
    # Paths of files with proposals.
    proposals: tuple[str, ...]
    files: tuple[ShippedFile, ...]
    # Files of installed distributions that declare proposals as entry points.
    site_files: tuple[ShippedFile, ...]

    def enter(self, root: Path) -> None:
        """Unpack everything below a directory and work there, for the rest of this process."""
        _ROOT[:] = [root]
        unpack_files(self.files)
        for file in self.site_files:
            _write_file(root / _SITE / file.path, file)
        sys.path.insert(0, str(root / _SITE))
        os.environ[ENVIRONMENT_VARIABLE] = ",".join(str(to_local_path(path)) for path in self.proposals)
        directory = to_local_path(self.directory)
        directory.mkdir(parents=True, exist_ok=True)
        os.chdir(directory)


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """A call that a worker makes: a function of a module, with arguments that can be pickled."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    # Files that this call alone reads.
    files: tuple[ShippedFile, ...] = ()


def make_environment(run: str) -> RunEnvironment:
    """Return the environment of this process."""
    proposals = proposal_files()
    return RunEnvironment(
        run,
        read_code_version(),
        os.getcwd(),
        proposals,
        pack_files(map(Path, proposals)),
        tuple(_pack_distributions()),
    )


def pack_files(paths: Iterable[Path]) -> tuple[ShippedFile, ...]:
    """Return files with their contents; raise ConfigurationError if they are too large together."""
    found: list[ShippedFile] = []
    size = 0
    for path in dict.fromkeys(map(os.path.abspath, paths)):
        found.append(_read_file(Path(path), path))
        size += len(found[-1].content)
        if size > FILES_BYTES_MAX:
            raise ConfigurationError(
                f"--dask: the files beside {path} are larger than {FILES_BYTES_MAX >> 20} MiB, and workers get a copy "
                "of them: give the scenario a directory of its own"
            )
    return tuple(found)


def list_files(directory: Path) -> Iterator[Path]:
    """Yield the files below a directory in order, without hidden directories."""
    for folder, folders, files in os.walk(directory):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in _SKIPPED_FOLDERS)
        yield from (path for name in sorted(files) if (path := Path(folder, name)).is_file())


def unpack_files(files: Iterable[ShippedFile]) -> None:
    """Write files below the root of this process, as far as they are not there yet."""
    for file in files:
        path = to_local_path(file.path)
        if not path.exists():
            _write_file(path, file)


def to_local_path(path: str) -> Path:
    """Return where this process has a file of the machine that it plays for."""
    return _ROOT[0] / path.lstrip("/")


def to_given_text(text: str) -> str:
    """Return a text with paths of this process as they were on the machine that it plays for."""
    return text.replace(str(_ROOT[0]), "")


def _read_file(path: Path, name: str) -> ShippedFile:
    try:
        return ShippedFile(name, path.read_bytes(), path.stat().st_mode & 0o777)
    except OSError as error:
        raise ConfigurationError(f"--dask: {path}: {error.strerror}: workers need a copy of this file") from None


def _write_file(path: Path, file: ShippedFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.content)
    path.chmod(file.mode)


# Distributions


def _pack_distributions() -> Iterator[ShippedFile]:
    """Yield the files of installed distributions that declare proposals."""
    given: dict[str, Distribution] = {}
    modules: dict[str, list[str]] = {}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.dist is not None:
            given[entry.dist.name] = entry.dist
            modules.setdefault(entry.dist.name, []).append(entry.module.partition(".")[0])
    for name, distribution in sorted(given.items()):
        yield from _pack_metadata(distribution)
        for module in dict.fromkeys(modules[name]):
            yield from _pack_module(module)


def _pack_metadata(distribution: Distribution) -> Iterator[ShippedFile]:
    """Yield the two files by which a process finds the entry points."""
    folder = f"{distribution.name.replace('-', '_')}-{distribution.version}.dist-info"
    for name in ("METADATA", "entry_points.txt"):
        yield ShippedFile(f"{folder}/{name}", (distribution.read_text(name) or "").encode(), 0o644)


def _pack_module(name: str) -> Iterator[ShippedFile]:
    """Yield the files of a top-level module or package that has been imported."""
    module = sys.modules.get(name)
    folders = [Path(one) for one in getattr(module, "__path__", ())]
    file = getattr(module, "__file__", None)
    paths = chain.from_iterable(map(list_files, folders)) if folders else (Path(one) for one in (file,) if one)
    for path in paths:
        top = next((one.parent for one in folders if path.is_relative_to(one)), path.parent)
        yield _read_file(path, path.relative_to(top).as_posix())


# Pickles


def _load_shipped_proposal(origin: str, gate: str) -> Proposal:
    """Return a proposal of a shipped file."""
    return {one.gate: one for one in load_file(to_local_path(origin))}[gate]


class _CallPickler(pickle.Pickler):
    """Pickler whose proposals are loaded from shipped files."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how to make a proposal again; leave other objects to pickle."""
        if isinstance(obj, Proposal) and os.path.isabs(obj.origin):
            return _load_shipped_proposal, (obj.origin, obj.gate)
        return NotImplemented


def dump_environment(environment: RunEnvironment) -> bytes:
    """Return an environment as bytes that every version of mockkube can split."""
    return json.dumps(asdict(environment.code)).encode() + b"\n" + pickle.dumps(environment)


def split_environment(data: bytes) -> tuple[CodeVersion, bytes]:
    """Return the version of the code, and the pickled environment, which only this version can load."""
    code, _, environment = data.partition(b"\n")
    return CodeVersion(**json.loads(code)), environment


def dump_call(call: WorkerCall) -> bytes:
    """Return a call as bytes; two equal calls have equal bytes."""
    buffer = BytesIO()
    _CallPickler(buffer).dump(call)
    return buffer.getvalue()
