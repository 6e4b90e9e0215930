"""Settings that `mockkube assets` writes into the executables."""

import json
from typing import Self

from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AssetSettings:
    """Settings of the executables: their version, and what runs besides an API server."""

    version: Version = DEFAULT
    # Whether scheduler, controller manager and kubelets run even without nodes.
    controllers: bool = False
    nodes: int = 0

    @property
    def runs_components(self) -> bool:
        """True if scheduler, controller manager and kubelets run beside the API server."""
        return self.controllers or self.nodes > 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse what `render` returned."""
        fields = json.loads(text)
        return cls(Version.parse(fields["version"]), fields["controllers"], fields["nodes"])

    def render(self) -> str:
        """Return the settings as one argument of a command line."""
        return json.dumps({"version": str(self.version), "controllers": self.controllers, "nodes": self.nodes})
