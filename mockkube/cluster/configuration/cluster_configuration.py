"""Configuration of a cluster: flags override environment variables, these the file, this the defaults.

`ClusterConfiguration` holds the result, `SETTINGS` the spelling of each setting; `resolve_configuration`
merges the layers.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockkube_storage.engines.catalogue import ENGINES, is_shared_store

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.configuration.values import (
    METRICS_API_AUTO,
    REAL_CLOCK,
    VIRTUAL_CLOCK,
    ComponentConfiguration,
    ParseValue,
    add_proposals_to_trains,
    default_release_trains,
    parse_address,
    parse_bind,
    parse_bool,
    parse_certificate_names,
    parse_clock,
    parse_cluster_id,
    parse_cluster_key,
    parse_cluster_key_file,
    parse_components,
    parse_controller_flags,
    parse_controllers,
    parse_gates,
    parse_hosts,
    parse_log_level,
    parse_metrics_api,
    parse_name,
    parse_nodes,
    parse_path,
    parse_plugins,
    parse_port,
    parse_proposals,
    parse_release_trains,
    parse_runtime_config,
    parse_scheduler_config,
    parse_skew_policy,
    parse_text,
    parse_token,
    parse_token_file,
    parse_tracing_config,
    parse_version,
    parse_version_up_to,
    parse_without,
)
from mockkube.cluster.configuration.yaml_files import read_mapping
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT, NEWEST, Version
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.cluster.configuration.tracing_options import TracingOptions

API_VERSION: Final = "mockkube.dev/v1alpha1"
KIND: Final = "ClusterConfiguration"
DEFAULT_PORT: Final = 6443
MEMORY: Final = "memory:"


@dataclass(frozen=True, slots=True)
class ClusterConfiguration:
    """Everything that a cluster is started with."""

    name: str = "default"
    bind: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    version: Version = DEFAULT
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    components: Mapping[str, ComponentConfiguration] = field(default_factory=dict)
    release_trains: tuple[ReleaseTrain, ...] = field(default_factory=default_release_trains)
    skew_policy: str = "warn"
    without: tuple[str, ...] = ()
    clock: str = REAL_CLOCK
    nodes: int = 0
    db: str | None = None  # None: a SQLite file in the state directory
    # Snapshot that an empty cluster starts from.
    snapshot: Path | None = None
    kubeconfig: Path | None = None
    set_context: bool = False
    ready_file: Path | None = None
    tls: bool = True
    # Host names besides those of loopback that clients may use for a server without TLS.
    allowed_hosts: tuple[str, ...] = ()
    disable_http2_serving: bool = False
    token: str | None = None  # None: a random one, kept with the cluster
    # Further names and addresses in the serving certificate, such as that of a load balancer.
    cert_extra_sans: tuple[str, ...] = ()
    # Address at which clients and other API servers reach this one; None: the one that it listens on.
    advertise_address: str | None = None
    # Whether other processes with the same database are part of the same control plane.
    join: bool = False
    # Name of the control plane that may be joined; empty: whichever uses the database.
    cluster_id: str = ""
    # Secret that encrypts the credentials in the database; None: one that is kept for all clusters of the user.
    cluster_key: str | None = None
    # Whether scheduler and controller manager elect leaders, and kubelets share the nodes; None: if `join` is set.
    leader_elect: bool | None = None
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    # API versions and resources that are served, as in `--runtime-config` of the real server.
    runtime_config: Mapping[str, str] = field(default_factory=dict)
    # A KubeSchedulerConfiguration.
    scheduler_config: Mapping[str, Any] | None = None
    # Value of `--controllers`; empty: those that run by default.
    controllers: tuple[str, ...] = ()
    # Other flags of the controller manager by name: see `component_flags`.
    controller_manager: Mapping[str, Any] = field(default_factory=dict)
    # Whether metrics.k8s.io is served: `on`, `off`, or `auto`: where kubelets are simulated.
    metrics_api: str = METRICS_API_AUTO
    # Where traces are sent; None: nothing is traced.
    tracing_config_file: "TracingOptions | None" = None
    log_level: str = "warning"
    # Whether the page of the cluster is served from the start; otherwise from the first `mockkube ui` on.
    ui: bool = False
    # Port of the page; 0: a free one.
    ui_port: int = 0
    # Names of settings that some layer gave; a restart applies only these over persisted settings.
    given_settings: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def ephemeral(self) -> bool:
        """True if the cluster leaves nothing behind its process."""
        return self.db == MEMORY

    @property
    def serves_resource_metrics(self) -> bool:
        """True if the API servers have simulated usage of nodes and pods."""
        if self.metrics_api == METRICS_API_AUTO:
            return "kubelets" not in self.without
        return self.metrics_api == "on"

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the server."""
        return self.bind == "::1" or self.bind.startswith("127.")

    @property
    def newest_version(self) -> Version:
        """Newest version that components may have: that of the schemas, or of a release train beyond."""
        return find_newest_version(self.release_trains)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in Python and the parser of its values."""

    name: str
    parse: ParseValue

    @property
    def flag(self) -> str:
        """Spelling as a flag, like `--ready-file`."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """Spelling as an environment variable, like `MOCKKUBE_READY_FILE`."""
        return f"MOCKKUBE_{self.name.upper()}"

    @property
    def key(self) -> str:
        """Spelling as a key of the configuration file, like `readyFile`."""
        first, *rest = self.name.split("_")
        return first + "".join(word.capitalize() for word in rest)


SETTINGS: Final = (
    Setting("name", parse_name),
    Setting("bind", parse_bind),
    Setting("port", parse_port),
    Setting("version", parse_version),
    Setting("feature_gates", parse_gates),
    Setting("components", parse_components),
    Setting("proposals", parse_proposals),
    Setting("release_trains", parse_release_trains),
    Setting("skew_policy", parse_skew_policy),
    Setting("without", parse_without),
    Setting("clock", parse_clock),
    Setting("nodes", parse_nodes),
    Setting("db", parse_text),
    Setting("ephemeral", parse_bool),
    Setting("snapshot", parse_path),
    Setting("kubeconfig", parse_path),
    Setting("set_context", parse_bool),
    Setting("ready_file", parse_path),
    Setting("tls", parse_bool),
    Setting("allowed_hosts", parse_hosts),
    Setting("disable_http2_serving", parse_bool),
    Setting("token", parse_token),
    Setting("token_file", parse_token_file),
    Setting("cert_extra_sans", parse_certificate_names),
    Setting("advertise_address", parse_address),
    Setting("join", parse_bool),
    Setting("cluster_id", parse_cluster_id),
    Setting("cluster_key", parse_cluster_key),
    Setting("cluster_key_file", parse_cluster_key_file),
    Setting("leader_elect", parse_bool),
    Setting("enable_admission_plugins", parse_plugins),
    Setting("disable_admission_plugins", parse_plugins),
    Setting("runtime_config", parse_runtime_config),
    Setting("scheduler_config", parse_scheduler_config),
    Setting("controllers", parse_controllers),
    Setting("controller_manager", parse_controller_flags),
    Setting("metrics_api", parse_metrics_api),
    Setting("tracing_config_file", parse_tracing_config),
    Setting("log_level", parse_log_level),
    Setting("ui", parse_bool),
    Setting("ui_port", parse_port),
)
_BY_KEY: Final = {setting.key: setting for setting in SETTINGS}

_Layer = dict[str, Any]


def resolve_configuration(
    flags: Mapping[str, Any], environment: Mapping[str, str], config_file: Path | None = None
) -> ClusterConfiguration:
    """Return the merged configuration; ConfigurationError for the first invalid value.

    `flags` holds, by Python name, the flags given on the command line and nothing else. Gates, components and flags of
    the controller manager are merged entry by entry, proposals add up, other values replace those of the lower layer.
    """
    if config_file is None and environment.get("MOCKKUBE_CONFIG"):
        config_file = Path(environment["MOCKKUBE_CONFIG"]).expanduser()
    merged: _Layer = {}
    for layer in (_parse_file(config_file), _parse_environment(environment), _parse_flags(flags)):
        _merge_layer(merged, layer)
    if "tracing_config_file" not in merged and any(name.startswith("OTEL_") for name in environment):
        merged |= _find_tracing_options(environment)
    # The name of a control plane is given only to be part of it.
    if merged.get("cluster_id"):
        merged["join"] = True
    configuration = ClusterConfiguration(
        **_add_proposals(_move_component_gates(merged)), given_settings=frozenset(merged)
    )
    # Only after merging: what must fit together may come from different layers.
    _check_combinations(configuration)
    return configuration


def _find_tracing_options(environment: Mapping[str, str]) -> _Layer:
    from mockkube.cluster.configuration.tracing_options import find_tracing_options  # few clusters are traced

    options = find_tracing_options(environment)
    return {} if options is None else {"tracing_config_file": options}


def _parse_flags(flags: Mapping[str, Any]) -> _Layer:
    given = ((setting, flags[setting.name], _describe_flag(setting)) for setting in SETTINGS if setting.name in flags)
    layer = _merge_database_settings(_parse_all(given), "--db and --ephemeral")
    layer = _merge_secret_settings(layer, "token", "--token and --token-file")
    return _merge_secret_settings(layer, "cluster_key", "the key and --cluster-key-file")


def _describe_flag(setting: Setting) -> str:
    return {"components": "--component", "proposals": "--proposal"}.get(setting.name, setting.flag)


def _parse_environment(environment: Mapping[str, str]) -> _Layer:
    given = (
        (setting, environment[setting.variable], setting.variable)
        for setting in SETTINGS
        if environment.get(setting.variable)
    )
    layer = _merge_database_settings(_parse_all(given), "MOCKKUBE_DB and MOCKKUBE_EPHEMERAL")
    layer = _merge_secret_settings(layer, "token", "MOCKKUBE_TOKEN and MOCKKUBE_TOKEN_FILE")
    return _merge_secret_settings(layer, "cluster_key", "MOCKKUBE_CLUSTER_KEY and MOCKKUBE_CLUSTER_KEY_FILE")


def _parse_file(path: Path | None) -> _Layer:
    if path is None:
        return {}
    document = _read_document(path)
    for key, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if (value := document.pop(key, None)) != expected:
            raise ConfigurationError(f"{path}: {key} is {value!r}: it must be {expected!r}")
    given = ((_find_setting(path, key), value, f"{path}: {key}") for key, value in document.items())
    layer = _merge_database_settings(_parse_all(given), f"{path}: db and ephemeral")
    layer = _merge_secret_settings(layer, "token", f"{path}: token and tokenFile")
    return _merge_secret_settings(layer, "cluster_key", f"{path}: clusterKey and clusterKeyFile")


def _read_document(path: Path) -> dict[str, Any]:
    try:
        return read_mapping(path, KIND)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _find_setting(path: Path, key: Any) -> Setting:
    from difflib import get_close_matches  # only a mistake needs it

    if key in _BY_KEY:
        return _BY_KEY[key]
    close = get_close_matches(str(key), _BY_KEY, n=1)
    remedy = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(_BY_KEY)}"
    raise ConfigurationError(f"{path}: unknown field {key!r}: {remedy}")


def _parse_all(given: Iterable[tuple[Setting, Any, str]]) -> _Layer:
    values: _Layer = {}
    for setting, raw, place in given:
        try:
            values[setting.name] = setting.parse(raw)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from None
    return values


def _merge_database_settings(layer: _Layer, place: str) -> _Layer:
    """Express `ephemeral` as a value of `db`, so that either overrides a lower layer; reject both together."""
    ephemeral = layer.pop("ephemeral", None)
    if ephemeral and "db" in layer:
        raise ConfigurationError(f"{place}: only one of the two can be meant: leave one out")
    if ephemeral is not None and "db" not in layer:
        layer["db"] = MEMORY if ephemeral else None
    return layer


def _merge_secret_settings(layer: _Layer, name: str, place: str) -> _Layer:
    """Treat the content of a secret's file as the secret; reject both together."""
    if f"{name}_file" in layer:
        if name in layer:
            raise ConfigurationError(f"{place}: only one of the two can be meant: leave one out")
        layer[name] = layer.pop(f"{name}_file")
    return layer


def _merge_layer(merged: _Layer, layer: _Layer) -> None:
    for name, value in layer.items():
        lower = merged.get(name)
        if name == "components" and lower is not None:
            # A component's version may come from the file and its gates from a flag: fields are merged one by one.
            merged[name] = lower | {key: own.merge_over(lower.get(key, own)) for key, own in value.items()}
        elif name in ("feature_gates", "controller_manager", "runtime_config") and lower is not None:
            merged[name] = lower | value
        elif name == "proposals" and lower is not None:
            merged[name] = tuple(dict.fromkeys((*lower, *value)))
        else:
            merged[name] = value


def _move_component_gates(merged: _Layer) -> _Layer:
    """Move gates written as `component:Gate` to their component; `--component` itself takes precedence."""
    components = dict(merged.get("components", {}))
    common = dict(_cluster_wide_gates(merged.get("feature_gates", {})))
    for key, setting in merged.get("feature_gates", {}).items():
        component, colon, gate = key.partition(":")
        if colon:
            own = components.get(component, ComponentConfiguration())
            components[component] = own.merge_over(ComponentConfiguration(None, {gate: setting}))
    return merged | {"components": components, "feature_gates": common}


def _add_proposals(merged: _Layer) -> _Layer:
    """Replace `proposals` by release trains that carry them."""
    proposals = merged.pop("proposals", ())
    try:
        trains = add_proposals_to_trains(merged.get("release_trains") or default_release_trains(), proposals)
    except ValueError as error:
        raise ConfigurationError(f"--proposal: {error}") from None
    return merged | {"release_trains": trains}


def _cluster_wide_gates(gates: Mapping[str, bool]) -> Iterator[tuple[str, bool]]:
    return ((key, setting) for key, setting in gates.items() if ":" not in key)


def find_newest_version(trains: Iterable[ReleaseTrain]) -> Version:
    """Return the newest version that the schemas or one of the release trains reach."""
    return max(NEWEST, *(stage.version for train in trains for stage in train.stages))


def _check_combinations(configuration: ClusterConfiguration) -> None:
    _check_versions(configuration)
    if configuration.set_context and configuration.kubeconfig is None:
        raise ConfigurationError("--set-context: no file to set it in: give one with --kubeconfig PATH as well")
    if not configuration.is_loopback and not configuration.tls:
        raise ConfigurationError(
            f"--bind: {configuration.bind} can be reached from other machines, which needs TLS and a token: "
            "leave out --no-tls, or listen on 127.0.0.1"
        )
    if configuration.join:
        _check_join(configuration)


def _check_join(configuration: ClusterConfiguration) -> None:
    if not is_shared_store(configuration.db or ""):
        # The scheme only: the rest may contain a password.
        given = "no --db, so SQLite," if configuration.db is None else configuration.db.partition(":")[0]
        shared = ", ".join(engine.example for engine in ENGINES if engine.is_shared)
        raise ConfigurationError(f"--join: {given} cannot be shared by several processes: give a --db like {shared}")
    if configuration.clock == VIRTUAL_CLOCK:
        raise ConfigurationError("--join: each process would have a virtual time of its own: leave out --clock")


def _check_versions(configuration: ClusterConfiguration) -> None:
    given = {"--version": configuration.version}
    given |= {f"--component {name}": own.version for name, own in configuration.components.items() if own.version}
    for place, version in given.items():
        try:
            parse_version_up_to(str(version), configuration.newest_version)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from None
