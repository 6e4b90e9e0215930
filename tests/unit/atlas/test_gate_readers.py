"""Components that read a gate, found in their source."""

from pathlib import Path

import pytest

from mockkube.atlas import gate_readers

ROLES = "apiserver/authorization/data/roles.txt"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Yield the folder of a package with modules of its own; what was found before is forgotten."""
    monkeypatch.setattr(gate_readers, "_ROOT", tmp_path)
    monkeypatch.setattr(gate_readers, "find_readers", gate_readers.find_readers.__wrapped__)
    write(tmp_path, ROLES, "")
    return tmp_path


def write(folder: Path, module: str, text: str) -> None:
    path = folder / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_folder_of_a_module_says_whose_it_is(source: Path) -> None:
    write(source, "scheduler/plugins/limits.py", 'on = caps.enabled("VolumeLimitScaling")')
    write(source, "api/kinds/storage/csi_driver.py", 'GATES = ("VolumeLimitScaling",)')
    assert gate_readers.find_readers() == {
        "VolumeLimitScaling": {
            "kube-apiserver": ("api/kinds/storage/csi_driver.py",),
            "kube-scheduler": ("scheduler/plugins/limits.py",),
        }
    }


def test_a_constant_that_is_imported_counts(source: Path) -> None:
    write(source, "kubelet/rules.py", 'GATE: Final = "EnvFiles"\nOTHER = 1')
    write(source, "controllers/one.py", "from mockkube.kubelet.rules import GATE")
    write(source, "controllers/two.py", "from mockkube.kubelet.rules import OTHER")
    assert gate_readers.find_readers()["EnvFiles"] == {
        "kube-controller-manager": ("controllers/one.py",),
        "kubelet": ("kubelet/rules.py",),
    }


def test_a_rule_of_a_default_role_that_depends_on_a_gate_counts(source: Path) -> None:
    write(source, ROLES, "system:node\n  pods/status patch ?EnvFiles\n")
    assert gate_readers.find_readers() == {"EnvFiles": {"kube-apiserver": (ROLES,)}}


def test_a_module_of_nobody_must_be_assigned(source: Path) -> None:
    write(source, "matching/new.py", 'on = caps.enabled("EnvFiles")')
    with pytest.raises(gate_readers.UnknownOwnerError, match=r"matching/new\.py names a gate"):
        gate_readers.find_readers()


def test_reports_and_tools_are_no_components(source: Path) -> None:
    write(source, "report/pages.py", 'GATE = "EnvFiles"')
    write(source, "scheduler/words.py", 'text = "EnvFiles is a gate"')
    assert gate_readers.find_readers() == {}


def test_shared_modules_exist() -> None:
    package = Path(gate_readers.__file__).parents[1]
    assert [module for module in gate_readers.SHARED_MODULES if not (package / module).is_file()] == []
