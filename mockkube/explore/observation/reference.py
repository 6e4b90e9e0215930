"""The reference cluster: capabilities of each component as if every component had changed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.configuration.values import default_release_trains
from mockkube.explore.plans.plan import ComponentSetting, PlannedChange, RolloutPlan
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.errors import FlagError
from mockkube.features.versions import Version
from mockkube.kubelet.admission.handlers import AdmissionRules
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.node_selectors import LabelOperator
from mockkube.matching.taints import TaintRules
from mockkube.proposals.component_extensions import make_selector_operators, make_taint_rules
from mockkube.proposals.component_view import ComponentView
from mockkube.runtime.virtual_time import EPOCH

# Returns the present version and gates of a component.
SettingsLookup = Callable[[str], ComponentSettings]


def compute_capabilities(plan: RolloutPlan, component: str, setting: ComponentSetting) -> Capabilities:
    """Return the capabilities of a component of a plan with a setting."""
    version = Version.parse(setting.version) if setting.version else plan.version
    gates = {gate: on for gate, on in setting.gates.items() if on is not None}
    return ComponentSettings(component, version, gates, plan.trains or default_release_trains()).capabilities()


class ReferenceCluster:
    """Every component with its new setting.

    A component that the plan changes is as in the plan. The others keep their settings and get gates and version of the
    API server in addition, whether the plan changes that or sets it up so: users may rely on what it accepts.
    """

    def __init__(self, plan: RolloutPlan, present: SettingsLookup | None = None) -> None:
        self._plan = plan
        self._present = present or self._default_settings

    def _default_settings(self, component: str) -> ComponentSettings:
        return ComponentSettings(component, self._plan.version, {}, self._plan.trains or default_release_trains())

    def capabilities(self, component: str) -> Capabilities:
        """Return the capabilities of a component in the reference cluster."""
        return self._settings(component).capabilities()

    def _settings(self, component: str) -> ComponentSettings:
        workload, change = self._present(component), self._find_change(component)
        if change is not None:
            return _with_setting(workload, change.after.version, change.after.gates)
        if component == API_SERVER:
            return workload
        server = self._settings(API_SERVER)
        promised = _with_setting(workload, str(max(workload.version, server.version)), server.feature_gates)
        # A gate of the API server may not exist at the version of the other component.
        return promised if _is_valid(promised) else workload

    def _find_change(self, component: str) -> PlannedChange | None:
        """Return the change of a component, or of the group of kubelets or API servers that it belongs to."""
        names = (component, component.partition(".")[0])
        return next((one for name in names for one in self._plan.changes if one.component == name), None)

    def taint_rules(self) -> TaintRules:
        """Return the toleration rules of the controller manager."""
        return _taint_rules(self.capabilities(CONTROLLER_MANAGER))

    def selector_operators(self) -> Mapping[str, LabelOperator]:
        """Return the node affinity operators of the controller manager."""
        return make_selector_operators(self.capabilities(CONTROLLER_MANAGER))

    def scheduler_capabilities(self) -> Capabilities:
        """Return the capabilities of the scheduler."""
        return self.capabilities(SCHEDULER)

    def server_view(self) -> ComponentView:
        """Return how the API server reads and stores objects."""
        return _server_view(self.capabilities(API_SERVER))

    def admission_rules(self, node: str) -> AdmissionRules:
        """Return the admission rules of a node's kubelet."""
        return _admission_rules(self.capabilities(f"{KUBELET}.{node}"))


def _with_setting(
    workload: ComponentSettings, version: str | None, gates: Mapping[str, bool | None]
) -> ComponentSettings:
    all_gates = {**workload.feature_gates, **gates}
    known = {gate: on for gate, on in all_gates.items() if on is not None}
    return replace(workload, version=Version.parse(version) if version else workload.version, feature_gates=known)


def _is_valid(settings: ComponentSettings) -> bool:
    try:
        settings.validate()
    except FlagError:
        return False
    return True


@lru_cache(maxsize=32)
def _taint_rules(caps: Capabilities) -> TaintRules:
    return make_taint_rules(caps, ExpressionCache().compile_expression)


@lru_cache(maxsize=32)
def _server_view(caps: Capabilities) -> ComponentView:
    return ComponentView(caps, EPOCH)


@lru_cache(maxsize=32)
def _admission_rules(caps: Capabilities) -> AdmissionRules:
    return AdmissionRules.from_capabilities(caps)
