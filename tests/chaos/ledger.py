"""What a server has acknowledged, and what must therefore be in its store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an object; `content` is what the writer put in, None for a deletion."""

    revision: int
    content: str | None


ABSENT = Version(0, None)


@dataclass(slots=True)
class Ledger:
    """The last acknowledged version of each object, and the content of writes without an answer."""

    acknowledged: dict[str, Version] = field(default_factory=dict)
    unanswered: dict[str, str | None] = field(default_factory=dict)
    revision_max: int = 0
    writes: int = 0

    def version(self, name: str) -> Version:
        """Return the last acknowledged version."""
        return self.acknowledged.get(name, ABSENT)

    def begin(self, name: str, content: str | None) -> None:
        """Note a write that is about to be sent."""
        self.unanswered[name] = content

    def acknowledge(self, name: str, revision: int) -> None:
        """Note that the last write was answered with success."""
        if name in self.unanswered:
            self.acknowledged[name] = Version(revision, self.unanswered.pop(name))
            self.writes += 1
        self.revision_max = max(self.revision_max, revision)

    def refuse(self, name: str) -> None:
        """Note that the last write was refused: it must not have happened."""
        self.unanswered.pop(name, None)

    def observe(self, name: str, revision: int) -> None:
        """Note a version that a watcher has received: what was visible once must be kept, answered or not."""
        if revision > self.version(name).revision:
            self.acknowledge(name, revision)
        self.revision_max = max(self.revision_max, revision)

    def check(self, listed: Mapping[str, Version], revision: int) -> list[str]:
        """Compare with the objects of a server that was started again; return what is wrong.

        A write without an answer may have happened or not; whichever it was is expected from now on.
        """
        wrong = []
        if revision < self.revision_max:
            wrong.append(f"the store is at revision {revision}, and was at {self.revision_max}")
        for name in sorted({*listed, *self.acknowledged, *self.unanswered}):
            found, expected = listed.get(name, ABSENT), self.version(name)
            if found.content == expected.content and (found.revision == expected.revision or found.content is None):
                continue
            if name in self.unanswered and found.content == self.unanswered[name]:
                if found.content is not None and found.revision <= expected.revision:
                    wrong.append(f"{name} was written at {found.revision}, before {expected.revision}")
                continue
            wrong.append(f"{name} is {_show(found)}, and was acknowledged as {_show(expected)}")
        self.acknowledged, self.unanswered = dict(listed), {}
        self.revision_max = max(self.revision_max, revision)
        return wrong


def version_of(obj: Mapping[str, Any]) -> tuple[str, Version]:
    """Return the name and the version of a ConfigMap."""
    metadata = obj["metadata"]
    return metadata["name"], Version(int(metadata["resourceVersion"]), obj["data"]["content"])


def _show(version: Version) -> str:
    return "absent" if version.content is None else f"{version.content[:40]!r} at {version.revision}"
