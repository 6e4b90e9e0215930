"""Write the executables `etcd`, `kube-apiserver` and `kubectl` that test tools start."""

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mockkube.assets.etcd import render_version as render_etcd_version
from mockkube.assets.etcd_options import render_help as render_etcd_help
from mockkube.assets.kube_apiserver import render_help, render_version
from mockkube.assets.settings import AssetSettings
from mockkube.cluster.state.atomic_files import write_atomically
from mockkube.features.versions import binary_version

_EXECUTABLE: Final = 0o755
_MACHINES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
# The texts that tools ask for before they start anything are printed by the shell: it takes 2 ms where Python takes 30.
_SCRIPT: Final = """\
#!/bin/sh
# {name} of mockkube: start it as the real one.
if [ "$#" = 1 ]; then
  case "$1" in
    --help | -h) cat <<'END_OF_TEXT'
{help}
END_OF_TEXT
      exit 0 ;;
    --version) cat <<'END_OF_TEXT'
{version}
END_OF_TEXT
      exit 0 ;;
  esac
fi
exec {python} -P -m mockkube.assets {name} {settings} "$@"
"""


def find_default_directory(settings: AssetSettings, environment: Mapping[str, str]) -> Path:
    """Return the directory for executables with these settings in the user's cache directory."""
    cache = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    parts = [str(settings.version), *(["controllers"] if settings.controllers else [])]
    if settings.nodes:
        parts.append(f"{settings.nodes}-nodes")
    return Path(cache) / "mockkube" / "assets" / "-".join(parts)


def find_envtest_directory(root: Path, settings: AssetSettings) -> Path:
    """Return where setup-envtest and envtest's own download keep executables of a version below their root."""
    system = platform.system().lower()
    machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
    # They read versions with three numbers only, so a suffix like -rc.1 is left out.
    version = binary_version(settings.version).partition("-")[0]
    return root / "k8s" / f"{version}-{system}-{machine}"


def write_executables(directory: Path, settings: AssetSettings, environment: Mapping[str, str]) -> None:
    """Write the executables, in the place of earlier ones; OSError if they cannot be written."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = {
        "etcd": (render_etcd_help(), render_etcd_version()),
        "kube-apiserver": (render_help(), render_version(settings.version)),
    }
    for name, (help_text, version) in texts.items():
        script = _SCRIPT.format(
            name=name,
            help=help_text,
            version=version,
            python=shlex.quote(sys.executable),
            settings=shlex.quote(settings.render()),
        )
        # Atomically: a test that runs meanwhile starts the old script or the new one.
        write_atomically(directory / name, script, mode=_EXECUTABLE, durable=False)
    _link_kubectl(directory / "kubectl", environment)


def _link_kubectl(link: Path, environment: Mapping[str, str]) -> None:
    """Link the machine's kubectl, if it has one: envtest only starts it when a test runs kubectl commands."""
    found = shutil.which("kubectl", path=environment.get("PATH", os.defpath))
    if found is None or link.resolve() == Path(found).resolve():
        return
    link.unlink(missing_ok=True)
    link.symlink_to(Path(found).resolve())
