"""Components: defaults, validation as their binaries validate flags, deletion protection, printer columns."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from mockkube.api.errors import Conflict, Forbidden
from mockkube.api.fields import FieldError, forbidden, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.ages import format_time_since
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Column, Printer, text_column, wide_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import (
    REQUIRED_COMPONENTS,
    ComponentSettings,
    find_skews,
    resolve_settings,
)
from mockkube.cluster.configuration.values import check_component, parse_version_up_to
from mockkube.cluster.control.conditions import get_condition
from mockkube.cluster.control.schemas import GROUP
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, is_api_server
from mockkube.features.errors import FlagError
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

# Condition: the version skew policy allows the component's version.
SUPPORTED_CONDITION: Final = "Supported"
RUNNING_CONDITION: Final = "Running"
# Condition: the API server that the component uses answers.
SERVER_READY_CONDITION: Final = "ServerReady"
# Condition: the component repeats the same failing work (hot loop).
LOOPING_CONDITION: Final = "Looping"

_API_SERVER_NAME: Final = re.compile(rf"{re.escape(API_SERVER)}(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class ComponentSpec:
    """Spec of a component, parsed."""

    settings: ComponentSettings
    should_run: bool
    # API server that the component uses; empty for API servers.
    server_name: str = ""

    @classmethod
    def from_object(cls, obj: ReadOnlyObject, trains: tuple[ReleaseTrain, ...]) -> "ComponentSpec":
        """Parse the spec of a valid component."""
        spec = obj["spec"]
        version = Version.parse(spec["version"])
        settings = ComponentSettings(obj["metadata"]["name"], version, spec.get("featureGates", {}), trains)
        return cls(settings, spec["running"], spec.get("server", ""))


# Returns the specs of all components by name.
LoadComponentSpecs = Callable[[], Mapping[str, ComponentSpec]]


def find_running_versions(specs: Mapping[str, ComponentSpec]) -> dict[str, Version]:
    """Return the versions of all components that are to run."""
    return {name: spec.settings.version for name, spec in specs.items() if spec.should_run}


class ComponentDefaults:
    """Defaulting of components: the cluster's version; a replica starts with the settings of the first one."""

    def __init__(self, configuration: ClusterConfiguration, load_specs: LoadComponentSpecs) -> None:
        self._configuration = configuration
        self._load_specs = load_specs

    def __call__(self, obj: Object, caps: Capabilities) -> None:
        """Set defaults of a decoded component."""
        metadata, spec = obj["metadata"], obj["spec"]
        name = metadata.get("name", "")
        spec.setdefault("running", True)
        if not is_api_server(name):
            spec.setdefault("server", API_SERVER)
        first = self._load_specs().get(name.partition(".")[0]) if "." in name else None
        if first is None:
            spec.setdefault("version", str(resolve_settings(self._configuration, name).version))
            return
        if (
            "version" not in spec
            and "featureGates" not in spec
            # Only at creation: an update that removes all gates must be able to.
            and "uid" not in metadata
            and first.settings.feature_gates
        ):
            spec["featureGates"] = dict(first.settings.feature_gates)
        spec.setdefault("version", str(first.settings.version))


class ComponentStrategy(StatusStrategy):
    """Strategy of components: validates versions and gates, and on demand the version skew policy."""

    def __init__(self, configuration: ClusterConfiguration, load_specs: LoadComponentSpecs) -> None:
        self._configuration = configuration
        self._load_specs = load_specs

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Reject names that are not of a component."""
        try:
            check_component(name)
        except ValueError as error:
            return [str(error)]
        return []

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate server, version and gates."""
        return self._validate(obj)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate version and gates if they change."""
        return [] if new["spec"] == old["spec"] else self._validate(new)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Return what the component would log when it starts, and violations of the skew policy."""
        return self._make_warnings(obj)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Return the same warnings if the spec changes."""
        return [] if new["spec"] == old["spec"] else self._make_warnings(new)

    def _validate(self, obj: ReadOnlyObject) -> list[FieldError]:
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        if not name:
            return []  # validation of the metadata reports the missing name
        if errors := _validate_server(name, spec):
            return errors
        try:
            parse_version_up_to(spec["version"], self._configuration.newest_version)
        except ValueError as error:
            return [invalid("spec.version", spec["version"], str(error))]
        component_spec = self._parse_spec(obj)
        try:
            component_spec.settings.validate()
        except FlagError as error:
            gates = spec.get("featureGates", {})
            return [invalid("spec.featureGates", gates, text_column) for text_column in error.errors]
        if self._configuration.skew_policy == "enforce":
            return [forbidden("spec.version", reason) for reason in self._find_new_skews(component_spec)]
        return []

    def _parse_spec(self, obj: ReadOnlyObject) -> ComponentSpec:
        return ComponentSpec.from_object(obj, self._configuration.release_trains)

    def _make_warnings(self, obj: ReadOnlyObject) -> list[str]:
        spec = self._parse_spec(obj)
        texts = [notice.text for notice in spec.settings.validate() if notice.severity == "warning"]
        if self._configuration.skew_policy == "warn":
            texts += self._find_new_skews(spec)
        if spec.server_name and spec.server_name not in self._load_specs():
            texts.append(f"spec.server: there is no {spec.server_name} yet")
        return texts

    def _find_new_skews(self, spec: ComponentSpec) -> list[str]:
        """Return violations of the skew policy that this spec adds."""
        before = dict(self._load_specs())
        name = spec.settings.component
        # Existing violations do not block a change, or no order of upgrades could repair them.
        known = find_skews(find_running_versions(before), name)
        return [
            reason for reason in find_skews(find_running_versions(before | {name: spec}), name) if reason not in known
        ]


def _validate_server(name: str, spec: ReadOnlyObject) -> list[FieldError]:
    server = spec.get("server")
    if is_api_server(name):
        return [] if server is None else [forbidden("spec.server", "an API server talks to no other")]
    if _API_SERVER_NAME.fullmatch(server or ""):
        return []
    return [invalid("spec.server", server, f"is no API server: give {API_SERVER} or {API_SERVER}.N")]


class DeletionProtection(AdmissionPlugin):
    """Admission plugin that protects required components and the clock from deletion."""

    name = "DeletionProtection"
    operations = (Operation.DELETE,)

    def __init__(self, load_specs: LoadComponentSpecs) -> None:
        self._load_specs = load_specs

    def admit(self, request: AdmissionAttributes) -> None:
        """Reject deletion of what every cluster has, and of API servers that other components use."""
        name = request.scope.name
        if request.is_for(GROUP, "components") and name in REQUIRED_COMPONENTS:
            why = "every cluster has it: set spec.running to false to stop it"
            raise Forbidden.for_object(request.resource.group, request.resource.plural, name, why)
        if request.is_for(GROUP, "components") and (users := self._find_components_of_server(name)):
            why = f"{', '.join(users)} would have no API server: change spec.server there first"
            raise Conflict.for_object(request.resource.group, request.resource.plural, name, why)
        if request.is_for(GROUP, "clocks"):
            raise Forbidden.for_object(request.resource.group, request.resource.plural, name, "every cluster has it")

    def _find_components_of_server(self, server: str) -> list[str]:
        return sorted(name for name, spec in self._load_specs().items() if spec.server_name == server)


def _make_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in sorted(spec.get("featureGates", {}).items()))
    return [
        obj["metadata"].get("name", ""),
        spec.get("version", ""),
        gates or NONE,
        str(status.get("running", False)).lower(),
        get_condition(obj, SUPPORTED_CONDITION).get("reason", ""),
        _format_trouble(obj) or NONE,
        format_time_since(obj["metadata"].get("creationTimestamp", ""), now),
        get_condition(obj, RUNNING_CONDITION).get("reason", ""),
        status.get("url") or NONE,
    ]


def _format_trouble(obj: ReadOnlyObject) -> str:
    server = get_condition(obj, SERVER_READY_CONDITION)
    found = [f"Server{server['reason']}"] if server.get("status") == "False" else []
    looping = get_condition(obj, LOOPING_CONDITION)
    if looping.get("status") == "True":
        found.append(f"{LOOPING_CONDITION}({_find_first_object(looping.get('message', ''))})")
    return ",".join(found)


def _find_first_object(message: str) -> str:
    """Return the first object named in the message of the condition Looping."""
    return message.partition(": ")[0].partition(" ")[2]


PRINTER: Final = Printer(
    (
        NAME_COLUMN,
        text_column("Version", "Kubernetes version."),
        text_column("Gates", "Feature gates of the spec; others have the default of the version."),
        Column("Running", description="Whether the component runs."),
        text_column("Skew", "Result of the version skew policy."),
        text_column("Trouble", "Other problems; see the conditions."),
        AGE_COLUMN,
        wide_column("Reason", "Reason of the running state."),
        wide_column("URL", "URL of an API server."),
    ),
    _make_cells,
)
