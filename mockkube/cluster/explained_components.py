"""Convert components to the form that `explain` needs."""

from collections.abc import Mapping

from mockkube.cluster.components import Settings
from mockkube.cluster.control.component import Asked
from mockkube.explain.component_variants import Standing
from mockkube.explain.components import Member, Team
from mockkube.features.components import API_SERVER


def standing_of(settings: Settings) -> Standing:
    """Return one component with its version and gates."""
    return Standing(settings.component, settings.capabilities(), settings.feature_gates)


def team_of(components: Mapping[str, Asked], idle: Mapping[str, str]) -> Team:
    """Return all components of the control API, with the reasons of those that are idle."""
    members = {}
    for name, asked in components.items():
        server = components.get(asked.server or name, components[API_SERVER]).settings
        members[name] = Member(standing_of(asked.settings), server.capabilities(), idle.get(name, ""))
    return Team(members)
