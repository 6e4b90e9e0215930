"""Loading of proposals from Python files that users name, and from entry points of distributions.

A file, or the object of an entry point, has PROPOSAL or PROPOSALS. Everything is checked before anything is used, so
a broken file leaves nothing behind. Files come from a cluster's configuration, or for the whole process from
MOCKKUBE_PROPOSALS, which child processes inherit.
"""

import copyreg
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache, lru_cache
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from mockkube.features.capabilities import Capabilities
from mockkube.features.trains import ReleaseTrain
from mockkube.proposals.catalogue import PROPOSALS, TRAINS, all_proposals
from mockkube.proposals.proposal import Proposal
from mockkube.proposals.validation import ProposalError, validate_names, validate_proposal

ENVIRONMENT_VARIABLE: Final = "MOCKKUBE_PROPOSALS"
ENTRY_POINT_GROUP: Final = "mockkube.proposals"
_REMEDY: Final = "assign a mockkube.proposals.proposal.Proposal to PROPOSAL, or several to PROPOSALS"
_NAME: Final = re.compile(r"[^0-9A-Za-z_]")


def load_file(path: str | Path) -> tuple[Proposal, ...]:
    """Return the proposals of a Python file; raise ProposalError if it cannot be used."""
    file = Path(os.path.abspath(Path(path).expanduser()))
    try:
        status = file.stat()
    except OSError as error:
        raise ProposalError(f"{path}: {error.strerror}: give a Python file that holds PROPOSAL") from None
    if not file.is_file():
        raise ProposalError(f"{path}: not a file: give a Python file that holds PROPOSAL")
    # Modification time and size are part of the cache key, so that a file that changed is loaded again.
    return _load_cached(str(file), status.st_mtime_ns, status.st_size)


@lru_cache(64)
def _load_cached(file: str, changed_at: int, size: int) -> tuple[Proposal, ...]:
    return _validate_all(_read_declarations(_execute_file(file), file), file)


def _execute_file(file: str) -> ModuleType:
    name = f"mockkube_proposal_{_NAME.sub('_', Path(file).stem)}_{sha256(file.encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ProposalError(f"{file}: not a Python file: its name must end in .py")
    module = module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses of the module look it up there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        if before is not None:
            # A file that fails to load again leaves its previous module in place, which running clusters still use.
            sys.modules[name] = before
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ProposalError(_describe_failure(file, error)) from None
    return module


def _describe_failure(file: str, error: BaseException) -> str:
    """Return where and why the code of a file failed, in one line."""
    text = " ".join(str(error).split()) or "no reason given"
    if isinstance(error, SyntaxError):
        place = f"{error.filename}:{error.lineno}" if error.filename else file
        return f"{place}: not valid Python: {error.msg}: correct it"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    place = f"{file}:{lines[-1]}" if lines else file
    if isinstance(error, ImportError):
        return f"{place}: {text}: install what it imports, or put it on PYTHONPATH"
    return f"{place}: {type(error).__name__}: {text}: correct it"


def _read_declarations(module: Any, place: str) -> Sequence[Any]:
    """Return the proposals that a module declares; an entry point may also refer to them directly."""
    if isinstance(module, Proposal):
        return (module,)
    if isinstance(module, list | tuple):
        return module
    if hasattr(module, "PROPOSAL"):
        return (module.PROPOSAL, *getattr(module, "PROPOSALS", ()))
    if hasattr(module, "PROPOSALS"):
        return tuple(module.PROPOSALS)
    raise ProposalError(f"{place}: no PROPOSAL: {_REMEDY}")


def _validate_all(found: Sequence[Any], place: str) -> tuple[Proposal, ...]:
    for one in found:
        if not isinstance(one, Proposal):
            raise ProposalError(f"{place}: PROPOSAL is {type(one).__name__}: {_REMEDY}")
        validate_proposal(one, place)
    proposals = tuple(replace(one, origin=place) for one in found)
    validate_names((*PROPOSALS, *proposals))
    return proposals


def validate_given(proposals: Iterable[Proposal]) -> tuple[Proposal, ...]:
    """Return proposals that a program passes as objects, after validating them."""
    return tuple(one if one.origin else _validate_one(one) for one in proposals)


@lru_cache(64)
def _validate_one(proposal: Proposal) -> Proposal:
    validate_proposal(proposal, f"the proposal of {proposal.gate}")
    validate_names((*PROPOSALS, proposal))
    return proposal


@cache
def load_installed() -> tuple[Proposal, ...]:
    """Return the proposals that installed distributions declare."""
    if not _has_entry_points():
        return ()
    from importlib.metadata import entry_points

    return tuple(one for entry in sorted(entry_points(group=ENTRY_POINT_GROUP)) for one in _load_entry_point(entry))


def _has_entry_points() -> bool:
    """Return whether any installed distribution has entry points of the group."""
    # Runs at every start: reading the files takes 3 ms, importing importlib.metadata 50.
    folders = (Path(one or ".") for one in sys.path)
    patterns = [f"*.{kind}-info/entry_points.txt" for kind in ("dist", "egg")]
    files = (file for folder in folders for pattern in patterns for file in folder.glob(pattern))
    return any(ENTRY_POINT_GROUP.encode() in file.read_bytes() for file in files)


def _load_entry_point(entry: Any) -> tuple[Proposal, ...]:
    distribution = f" of {entry.dist.name}" if entry.dist is not None else ""
    place = f"entry point {entry.name!r}{distribution}"
    try:
        declared = entry.load()
    except Exception as error:  # whatever the code of a distribution does must not end in a traceback
        text = " ".join(str(error).split())
        raise ProposalError(f"{place}: {type(error).__name__}: {text}: correct or uninstall it") from None
    return _validate_all(_read_declarations(declared, place), place)


def default_proposals() -> tuple[Proposal, ...]:
    """Return the proposals of this process: those of MOCKKUBE_PROPOSALS, and installed ones."""
    paths = [path.strip() for path in os.environ.get(ENVIRONMENT_VARIABLE, "").split(",")]
    return tuple(dict.fromkeys((*load_installed(), *(one for path in paths if path for one in load_file(path)))))


def default_trains() -> tuple[ReleaseTrain, ...]:
    """Return the release trains of all proposals, unless a cluster's configuration says otherwise."""
    return add_to_trains(TRAINS, default_proposals())


@lru_cache(32)
def add_to_trains(trains: tuple[ReleaseTrain, ...], proposals: tuple[Proposal, ...]) -> tuple[ReleaseTrain, ...]:
    """Return trains that also bring these proposals; raise ProposalError if two declare the same name.

    Stages that the trains already have for a gate stay: they come from the user's configuration.
    """
    known = {train.gate: train for train in trains}
    for proposal in proposals:
        assert proposal.train is not None, "it was checked"
        train = known.get(proposal.gate, proposal.train)
        if train.proposal not in (None, proposal):
            validate_names((train.proposal, proposal))
        known[proposal.gate] = replace(train, aliases=train.aliases or proposal.train.aliases, proposal=proposal)
    extended = tuple(known.values())
    validate_names(all_proposals(extended))
    return extended


def trains_for(caps: Capabilities) -> tuple[ReleaseTrain, ...]:
    """Return the release trains that a component follows."""
    return caps.trains or default_trains()


@contextmanager
def proposals_from_files(paths: Sequence[str | Path]) -> Iterator[None]:
    """Add the proposals of files to this process and its children; raise ProposalError for an unusable one."""
    before = os.environ.get(ENVIRONMENT_VARIABLE)
    files = [os.path.abspath(Path(path).expanduser()) for path in paths]
    for file in files:
        load_file(file)
    if files:
        os.environ[ENVIRONMENT_VARIABLE] = ",".join(dict.fromkeys(filter(None, (*(before or "").split(","), *files))))
    try:
        default_trains()
        yield
    finally:
        if before is None:
            os.environ.pop(ENVIRONMENT_VARIABLE, None)
        else:
            os.environ[ENVIRONMENT_VARIABLE] = before


def proposal_files() -> tuple[str, ...]:
    """Return the files of this process's proposals, for commands that are printed to be run again."""
    return tuple(dict.fromkeys(one.origin for one in default_proposals() if os.path.isabs(one.origin)))


# Worker processes load a proposal again: functions of a file that no module imports cannot be pickled.
def _reduce_proposal(proposal: Proposal) -> tuple[Callable[..., Proposal], tuple[Any, ...]]:
    if not proposal.origin:
        return Proposal, tuple(getattr(proposal, one.name) for one in fields(proposal))
    return _reload_proposal, (proposal.origin, proposal.gate)


def _reload_proposal(origin: str, gate: str) -> Proposal:
    found: Mapping[str, Proposal] = {
        one.gate: one for one in (load_file(origin) if os.path.isabs(origin) else load_installed())
    }
    return found[gate]


copyreg.pickle(Proposal, _reduce_proposal)
