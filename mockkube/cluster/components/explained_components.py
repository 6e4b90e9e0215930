"""Convert components to the form that `explain` needs."""

from collections.abc import Mapping

from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.control.component import ComponentSpec
from mockkube.explain.component_variants import ComponentFeatures
from mockkube.explain.components import ClusterComponents, DecidingComponent
from mockkube.features.components import API_SERVER


def make_component_features(settings: ComponentSettings) -> ComponentFeatures:
    """Return one component with its version and gates."""
    return ComponentFeatures(settings.component, settings.capabilities(), settings.feature_gates)


def make_cluster_components(specs: Mapping[str, ComponentSpec], idle: Mapping[str, str]) -> ClusterComponents:
    """Return all components of the control API, with the reasons of those that are idle."""
    members = {}
    for name, spec in specs.items():
        server = specs.get(spec.server_name or name, specs[API_SERVER]).settings
        members[name] = DecidingComponent(
            make_component_features(spec.settings), server.capabilities(), idle.get(name, "")
        )
    return ClusterComponents(members)
