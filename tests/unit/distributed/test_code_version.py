"""Versions of code: what differs is said with its remedy."""

from dataclasses import replace

import pytest

from mockkube.distributed.code_version import CodeVersion, read_code_version

HERE = CodeVersion("0.1.0", "aa", "3.12")


@pytest.mark.parametrize(
    ("there", "text"),
    [
        pytest.param(HERE, "", id="equal"),
        pytest.param(
            CodeVersion("0.2.0", "bb", "3.11"),
            "has mockkube 0.2.0, and here is 0.1.0: install the same version on both",
            id="another version",
        ),
        pytest.param(
            replace(HERE, python="3.11"),
            "runs Python 3.11, and here is 3.12: start it with Python 3.12",
            id="another Python",
        ),
        pytest.param(
            replace(HERE, digest="bb"),
            "has mockkube 0.1.0 with other code: install the same build on both, and restart it",
            id="another build",
        ),
    ],
)
def test_a_difference_is_described(there: CodeVersion, text: str) -> None:
    assert HERE.describe_difference(there) == text


def test_the_version_of_this_process_has_a_digest() -> None:
    assert len(read_code_version().digest) == 64
