"""Components of a cluster as `explain` needs them."""

from collections.abc import Mapping

from mockkube.cluster.components import Settings
from mockkube.cluster.control.component import Asked
from mockkube.explain.component_variants import Standing
from mockkube.explain.components import Member, Team
from mockkube.features.components import API_SERVER


def standing_of(settings: Settings) -> Standing:
    """Return a component as it is told to be."""
    return Standing(settings.component, settings.capabilities(), settings.feature_gates)


def team_of(components: Mapping[str, Asked], idle: Mapping[str, str]) -> Team:
    """Return the components that the control API has, and why some of them do nothing."""
    members = {}
    for name, asked in components.items():
        server = components.get(asked.server or name, components[API_SERVER]).settings
        members[name] = Member(standing_of(asked.settings), server.capabilities(), idle.get(name, ""))
    return Team(members)
