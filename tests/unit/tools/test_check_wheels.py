"""Packages without a wheel for a supported platform are found; the locked ones keep their markers."""

from collections.abc import Callable
from types import ModuleType

import pytest
from packaging.requirements import Requirement


@pytest.fixture(scope="module")
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("check_wheels")


def gaps(tool: ModuleType, requirement: str, *files: str) -> list[str]:
    return [str(target) for target in tool.find_gaps(Requirement(requirement), files)]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(["a-1.0-py3-none-any.whl"], id="pure"),
        pytest.param(
            [
                f"a-1.0-cp311-abi3-{platform}.whl"
                for platform in (
                    "manylinux_2_28_x86_64", "manylinux2014_aarch64.manylinux_2_17_aarch64", "macosx_11_0_universal2"
                )
            ],
            id="stable ABI",
        ),
    ],
)  # fmt: skip
def test_one_wheel_may_serve_all_pythons(tool: ModuleType, files: list[str]) -> None:
    assert gaps(tool, "a==1.0", *files) == []


def test_a_platform_without_a_wheel_is_a_gap_for_each_python(tool: ModuleType) -> None:
    files = [
        f"a-1.0-{python}-{python}-{platform}.whl"
        for python in ("cp311", "cp312", "cp313", "cp314")
        for platform in ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "macosx_13_0_arm64")
    ]
    pythons = ("3.11", "3.12", "3.13", "3.14")
    assert gaps(tool, "a==1.0", *files) == [f"Darwin x86_64, Python {python}" for python in pythons]
    assert gaps(tool, "a==1.0 ; platform_machine != 'x86_64' or sys_platform != 'darwin'", *files) == []


@pytest.mark.parametrize(
    "file",
    [
        pytest.param("a-2.0-py3-none-any.whl", id="another version"),
        pytest.param("a-1.0-cp314-cp314t-manylinux_2_28_x86_64.whl", id="free-threaded"),
        pytest.param("a-1.0-cp311-cp311-manylinux_2_34_x86_64.whl", id="too new a C library"),
        pytest.param("a-1.0-cp311-cp311-musllinux_1_2_x86_64.whl", id="musl"),
        pytest.param("a-1.0.tar.gz", id="source"),
    ],
)
def test_a_wheel_that_does_not_fit_does_not_count(tool: ModuleType, file: str) -> None:
    assert len(gaps(tool, "a==1.0", file)) == len(tool.TARGETS)
