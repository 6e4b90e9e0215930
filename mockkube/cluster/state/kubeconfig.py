"""Kubeconfig files: the cluster's own, and its entries in a file of the user."""

import contextlib
import json
import os
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.atomic_files import PRIVATE, write_atomically
from mockkube.cluster.state.certificates import Certificates
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

CONTEXT_PREFIX: Final = "mockkube-"
SECTIONS: Final = ("clusters", "users", "contexts")
LOCK_ATTEMPTS_MAX: Final = 50  # then the lock file is probably left over, and the error names it
LOCK_RETRY_SECONDS: Final = 0.02

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KubeconfigEntries:
    """URL and credentials of a cluster, for a kubeconfig."""

    name: str
    url: str
    certificates: Certificates | None = None
    token: str | None = None
    # Certificate and key of the user; by default those of the administrator.
    client: tuple[Path, Path] | None = None

    @property
    def context(self) -> str:
        """Name of the cluster's entries."""
        return make_context_name(self.name)


def make_context_name(cluster: str) -> str:
    """Return the name of a cluster's entries."""
    return f"{CONTEXT_PREFIX}{cluster}"


def render_kubeconfig(entries: KubeconfigEntries) -> str:
    """Return the cluster's own kubeconfig as YAML."""
    name = entries.context
    # Written as text: importing PyYAML takes longer than the rest of writing it.
    lines = [
        "apiVersion: v1",
        "kind: Config",
        "clusters:",
        f"- name: {name}",
        "  cluster:",
        f"    server: {entries.url}",
    ]
    lines += _render_authority(entries)
    lines += ["users:", f"- name: {name}", *_render_user(entries)]
    lines += ["contexts:", f"- name: {name}", "  context:", f"    cluster: {name}", f"    user: {name}"]
    lines += [f"current-context: {name}", ""]
    return "\n".join(lines)


def _render_authority(entries: KubeconfigEntries) -> list[str]:
    certificates = entries.certificates
    return [] if certificates is None else [f"    certificate-authority-data: {_encode_file(certificates.authority)}"]


def _render_user(entries: KubeconfigEntries) -> list[str]:
    if entries.certificates is not None:
        admin = entries.certificates.admin, entries.certificates.admin_key
        certificate, key = map(_encode_file, entries.client or admin)
        return ["  user:", f"    client-certificate-data: {certificate}", f"    client-key-data: {key}"]
    if entries.token is not None:
        return ["  user:", f"    token: {json.dumps(entries.token)}"]
    return ["  user: {}"]


def _encode_file(path: Path) -> str:
    return b64encode(path.read_bytes()).decode()


async def merge_into_kubeconfig(path: Path, own: str, *, set_context: bool, clock: Clock) -> str | None:
    """Add the entries of the kubeconfig `own` to a file; return its previous current context.

    The file need not exist. Entries of the same names are replaced, everything else is kept. StartError if that fails;
    the file is unchanged then.
    """
    async with _hold_lock(path, clock):
        config, entries = _load(path), _parse(own)
        for section in SECTIONS:
            [entry] = entries[section]
            _replace_entry(config, section, entry)
        previous = config.get("current-context") or None
        if set_context:
            config["current-context"] = entries["current-context"]
        _save(path, config)
    return previous


async def remove_from_kubeconfig(path: Path, context: str, *, previous_context: str | None, clock: Clock) -> None:
    """Remove a cluster's entries from a file.

    If its context is the current one, the previous context becomes current again, provided that it still exists.
    """
    if not _exists(path):
        return
    async with _hold_lock(path, clock):
        config = _load(path)
        for section in SECTIONS:
            config[section] = [entry for entry in _get_entries(config, section) if entry.get("name") != context]
        if config.get("current-context") == context:
            known = {entry.get("name") for entry in _get_entries(config, "contexts")}
            config["current-context"] = previous_context if previous_context in known else ""
        _save(path, config)


def _replace_entry(config: Config, section: str, entry: Config) -> None:
    others = [other for other in _get_entries(config, section) if other.get("name") != entry["name"]]
    config[section] = [*others, entry]


def _get_entries(config: Config, section: str) -> list[Config]:
    return [entry for entry in config.get(section) or [] if isinstance(entry, dict)]


def _parse(text: str | bytes) -> Any:
    from mockkube.api.decoding import bounded_yaml  # only who merges needs PyYAML

    return bounded_yaml.load(text)


def _load(path: Path) -> Config:
    import yaml

    try:
        config = _parse(path.read_bytes())
    except FileNotFoundError:
        config = None
    except OSError as error:
        raise _make_error(path, f"{error.strerror}", "make it readable") from None
    except (yaml.YAMLError, ValueError):
        raise _make_error(path, "not valid YAML", "mend it") from None
    if config is None:
        return {"apiVersion": "v1", "kind": "Config", "preferences": {}}
    if not isinstance(config, dict) or any(not isinstance(config.get(key) or [], list) for key in SECTIONS):
        raise _make_error(path, "not a kubeconfig", "mend it")
    return config


def _save(path: Path, config: Config) -> None:
    import yaml

    text = yaml.dump(config, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
    try:
        write_atomically(path, text, mode=_get_mode(path))
    except OSError as error:
        raise _make_error(path, f"{error.strerror}", "make it writable") from None


def _get_mode(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mode & 0o777
    return PRIVATE


def _exists(path: Path) -> bool:
    return path.exists()


@contextlib.asynccontextmanager
async def _hold_lock(path: Path, clock: Clock) -> AsyncIterator[None]:
    """Hold the lock file that kubectl also creates while it changes a kubeconfig."""
    # upstream 1.36: client-go/tools/clientcmd/config.go
    lock = f"{path}.lock"
    attempts = 0
    while not _try_lock(path, lock):
        if (attempts := attempts + 1) >= LOCK_ATTEMPTS_MAX:
            raise _make_error(
                path, f"another program is changing it ({lock} exists)", "remove that file if it is left over"
            )
        await clock.sleep(LOCK_RETRY_SECONDS)
    try:
        yield
    finally:
        os.unlink(lock)


def _try_lock(path: Path, lock: str) -> bool:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0))
    except FileExistsError:
        return False
    except OSError as error:
        raise _make_error(path, f"{error.strerror}", "make its directory writable") from None
    return True


def _make_error(path: Path, why: str, remedy: str) -> StartError:
    return StartError(f"kubeconfig {path}: {why}: {remedy}, or give another --kubeconfig")
