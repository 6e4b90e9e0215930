"""The page about assets lists the flags of kube-apiserver as the table of flags has them."""

import re
from pathlib import Path

from mockkube.assets.command_line import Flag
from mockkube.assets.kube_apiserver_options import load_flags
from mockkube.assets.option_validation import REFUSED

PAGE = Path(__file__).parents[2] / "docs" / "assets.md"


def render_effective(flags: list[Flag]) -> str:
    rows = [f"| `--{flag.name}` | {flag.help} |" for flag in flags if flag.help]
    return "\n".join(["| flag | effect |", "| --- | --- |", *rows])


def render_others(flags: list[Flag]) -> str:
    return ", ".join(f"`--{flag.name}`" for flag in flags if not flag.help and not is_refused(flag))


def is_refused(flag: Flag) -> bool:
    return flag.name in REFUSED


def read_part(title: str) -> str:
    found = re.search(rf"<!-- {title} -->\n(.*?)\n?<!-- end -->", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1].strip()


def test_flags_with_an_effect() -> None:
    assert read_part("flags with an effect") == render_effective(list(load_flags()))


def test_flags_without_an_effect() -> None:
    assert " ".join(read_part("flags without an effect").split()) == render_others(list(load_flags()))
