"""Parse kubectl command lines into verb, words and flags."""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.kubectl.pipes import split_pipes

_SHORT: Final[Mapping[str, str]] = {
    "-n": "--namespace",
    "-o": "--output",
    "-f": "--filename",
    "-l": "--selector",
    "-A": "--all-namespaces",
    "-p": "--patch",
}
_SWITCHES: Final = frozenset(
    {
        "--all-namespaces", "--overwrite", "--force", "--all", "--now", "--server-side", "--force-conflicts",
        "--ignore-not-found", "--no-headers", "--show-labels", "--dry-run", "--wait", "--delete-emptydir-data",
        "--ignore-daemonsets", "--list", "--validate", "--disable-eviction",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A parsed command line."""

    verb: str
    words: tuple[str, ...]
    flags: Mapping[str, tuple[str, ...]]

    def flag(self, name: str, default: str = "") -> str:
        """Return the last value of a flag."""
        values = self.flags.get(name)
        return values[-1] if values else default

    def is_on(self, name: str) -> bool:
        """Return whether a switch is on."""
        return self.flag(name, "false") not in ("false", "none")

    def check_flags(self, *names: str) -> None:
        """Raise StepFailed for flags other than these and those of every command."""
        usual = ("--namespace", "--all-namespaces", "--output", "--as", "--as-group")
        for name in self.flags:
            if name not in (*names, *usual):
                raise StepFailed(f"kubectl {self.verb}: {name} is not built in: run it with --kubectl PATH")


def parse_command_line(text: str | Sequence[str]) -> CommandLine:
    """Parse a command line; flags before the verb count as well."""
    tokens = split_pipes(text)[0] if isinstance(text, str) else list(text)
    if tokens[:1] == ["kubectl"]:
        del tokens[0]
    words: list[str] = []
    flags: dict[str, tuple[str, ...]] = {}
    while tokens:
        word = tokens.pop(0)
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        if name in _SHORT or name[:2] not in _SHORT:
            name = _SHORT.get(name, name)
        else:
            name, equals, value = _SHORT[name[:2]], "=", name[2:]  # -oyaml
        if not equals:
            # Without a table of switches `--force pod/a` could not be told from `--selector app=a`.
            value = "true" if name in _SWITCHES or not tokens else tokens.pop(0)
        flags[name] = (*flags.get(name, ()), value)
    if not words:
        raise StepFailed("kubectl: no command: give one like 'get pods'")
    return CommandLine(words[0], tuple(words[1:]), flags)
