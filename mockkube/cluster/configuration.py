"""Configuration of a cluster: flags override environment variables, these the file, this the defaults.

`ClusterConfiguration` holds the result, `SETTINGS` the spelling of each setting; `resolve_configuration`
merges the layers.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mockkube.cluster.errors import ConfigurationError
from mockkube.cluster.readings import (
    REAL,
    ComponentConfiguration,
    Reader,
    read_bind,
    read_clock,
    read_components,
    read_controller_flags,
    read_controllers,
    read_flag,
    read_gates,
    read_hosts,
    read_log_level,
    read_name,
    read_nodes,
    read_parts,
    read_path,
    read_plugins,
    read_port,
    read_proposals,
    read_scheduler_config,
    read_skew_policy,
    read_text,
    read_token,
    read_token_file,
    read_trains,
    read_version,
    read_version_up_to,
    usual_trains,
    with_proposals,
)
from mockkube.cluster.yaml_files import read_mapping
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import DEFAULT, NEWEST, Version

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
    release_trains: tuple[ReleaseTrain, ...] = field(default_factory=usual_trains)
    skew_policy: str = "warn"
    without: tuple[str, ...] = ()
    clock: str = REAL
    nodes: int = 0
    db: str | None = None  # None: a SQLite file in the state directory
    kubeconfig: Path | None = None
    set_context: bool = False
    ready_file: Path | None = None
    tls: bool = True
    # Host names besides those of loopback that clients may use for a server without TLS.
    allowed_hosts: tuple[str, ...] = ()
    token: str | None = None  # None: a random one, kept with the cluster
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    # A KubeSchedulerConfiguration.
    scheduler_config: Mapping[str, Any] | None = None
    # Value of `--controllers`; empty: those that run by default.
    controllers: tuple[str, ...] = ()
    # Other flags of the controller manager by name: see `component_flags`.
    controller_manager: Mapping[str, Any] = field(default_factory=dict)
    log_level: str = "warning"
    # Names of settings that some layer gave; a restart applies only these over persisted settings.
    given: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def ephemeral(self) -> bool:
        """True if the cluster leaves nothing behind its process."""
        return self.db == MEMORY

    @property
    def loopback(self) -> bool:
        """True if only this machine can reach the server."""
        return self.bind == "::1" or self.bind.startswith("127.")

    @property
    def newest(self) -> Version:
        """Newest version that components may have: that of the schemas, or of a release train beyond."""
        return newest(self.release_trains)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in Python and the parser of its values."""

    name: str
    read: Reader

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
    Setting("name", read_name),
    Setting("bind", read_bind),
    Setting("port", read_port),
    Setting("version", read_version),
    Setting("feature_gates", read_gates),
    Setting("components", read_components),
    Setting("proposals", read_proposals),
    Setting("release_trains", read_trains),
    Setting("skew_policy", read_skew_policy),
    Setting("without", read_parts),
    Setting("clock", read_clock),
    Setting("nodes", read_nodes),
    Setting("db", read_text),
    Setting("ephemeral", read_flag),
    Setting("kubeconfig", read_path),
    Setting("set_context", read_flag),
    Setting("ready_file", read_path),
    Setting("tls", read_flag),
    Setting("allowed_hosts", read_hosts),
    Setting("token", read_token),
    Setting("token_file", read_token_file),
    Setting("enable_admission_plugins", read_plugins),
    Setting("disable_admission_plugins", read_plugins),
    Setting("scheduler_config", read_scheduler_config),
    Setting("controllers", read_controllers),
    Setting("controller_manager", read_controller_flags),
    Setting("log_level", read_log_level),
)
_BY_KEY: Final = {setting.key: setting for setting in SETTINGS}

Values = dict[str, Any]


def resolve(
    flags: Mapping[str, Any], environment: Mapping[str, str], config_file: Path | None = None
) -> ClusterConfiguration:
    """Return the merged configuration; ConfigurationError for the first invalid value.

    `flags` holds, by Python name, the flags given on the command line and nothing else. Gates, components and flags of
    the controller manager are merged entry by entry, proposals add up, other values replace those of the lower layer.
    """
    if config_file is None and environment.get("MOCKKUBE_CONFIG"):
        config_file = Path(environment["MOCKKUBE_CONFIG"]).expanduser()
    merged: Values = {}
    for layer in (_of_file(config_file), _of_environment(environment), _of_flags(flags)):
        _lay_over(merged, layer)
    configuration = ClusterConfiguration(**_board_proposals(_split_gates(merged)), given=frozenset(merged))
    # Only after merging: what must fit together may come from different layers.
    _check_together(configuration)
    return configuration


def _of_flags(flags: Mapping[str, Any]) -> Values:
    given = ((setting, flags[setting.name], _flag_place(setting)) for setting in SETTINGS if setting.name in flags)
    return _one_token(_one_database(_read_all(given), "--db and --ephemeral"), "--token and --token-file")


def _flag_place(setting: Setting) -> str:
    return {"components": "--component", "proposals": "--proposal"}.get(setting.name, setting.flag)


def _of_environment(environment: Mapping[str, str]) -> Values:
    given = (
        (setting, environment[setting.variable], setting.variable)
        for setting in SETTINGS
        if environment.get(setting.variable)
    )
    layer = _one_database(_read_all(given), "MOCKKUBE_DB and MOCKKUBE_EPHEMERAL")
    return _one_token(layer, "MOCKKUBE_TOKEN and MOCKKUBE_TOKEN_FILE")


def _of_file(path: Path | None) -> Values:
    if path is None:
        return {}
    document = _document(path)
    for key, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if (value := document.pop(key, None)) != expected:
            raise ConfigurationError(f"{path}: {key} is {value!r}: it must be {expected!r}")
    given = ((_setting_of(path, key), value, f"{path}: {key}") for key, value in document.items())
    layer = _one_database(_read_all(given), f"{path}: db and ephemeral")
    return _one_token(layer, f"{path}: token and tokenFile")


def _document(path: Path) -> dict[str, Any]:
    try:
        return read_mapping(path, KIND)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _setting_of(path: Path, key: Any) -> Setting:
    from difflib import get_close_matches  # only a mistake needs it

    if key in _BY_KEY:
        return _BY_KEY[key]
    close = get_close_matches(str(key), _BY_KEY, n=1)
    remedy = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(_BY_KEY)}"
    raise ConfigurationError(f"{path}: unknown field {key!r}: {remedy}")


def _read_all(given: Iterable[tuple[Setting, Any, str]]) -> Values:
    values: Values = {}
    for setting, raw, place in given:
        try:
            values[setting.name] = setting.read(raw)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from None
    return values


def _one_database(layer: Values, place: str) -> Values:
    """Express `ephemeral` as a value of `db`, so that either overrides a lower layer; reject both together."""
    ephemeral = layer.pop("ephemeral", None)
    if ephemeral and "db" in layer:
        raise ConfigurationError(f"{place}: only one of the two can be meant: leave one out")
    if ephemeral is not None and "db" not in layer:
        layer["db"] = MEMORY if ephemeral else None
    return layer


def _one_token(layer: Values, place: str) -> Values:
    """Treat the content of the token file as `token`; reject both together."""
    if "token_file" in layer:
        if "token" in layer:
            raise ConfigurationError(f"{place}: only one of the two can be meant: leave one out")
        layer["token"] = layer.pop("token_file")
    return layer


def _lay_over(merged: Values, layer: Values) -> None:
    for name, value in layer.items():
        lower = merged.get(name)
        if name == "components" and lower is not None:
            # A component's version may come from the file and its gates from a flag: `over` merges field by field.
            merged[name] = lower | {key: own.over(lower.get(key, own)) for key, own in value.items()}
        elif name in ("feature_gates", "controller_manager") and lower is not None:
            merged[name] = lower | value
        elif name == "proposals" and lower is not None:
            merged[name] = tuple(dict.fromkeys((*lower, *value)))
        else:
            merged[name] = value


def _split_gates(merged: Values) -> Values:
    """Move gates written as `component:Gate` to their component; `--component` itself takes precedence."""
    components = dict(merged.get("components", {}))
    common = dict(_common(merged.get("feature_gates", {})))
    for key, setting in merged.get("feature_gates", {}).items():
        component, colon, gate = key.partition(":")
        if colon:
            own = components.get(component, ComponentConfiguration())
            components[component] = own.over(ComponentConfiguration(None, {gate: setting}))
    return merged | {"components": components, "feature_gates": common}


def _board_proposals(merged: Values) -> Values:
    """Replace `proposals` by release trains that carry them."""
    proposals = merged.pop("proposals", ())
    try:
        trains = with_proposals(merged.get("release_trains") or usual_trains(), proposals)
    except ValueError as error:
        raise ConfigurationError(f"--proposal: {error}") from None
    return merged | {"release_trains": trains}


def _common(gates: Mapping[str, bool]) -> Iterator[tuple[str, bool]]:
    return ((key, setting) for key, setting in gates.items() if ":" not in key)


def newest(trains: Iterable[ReleaseTrain]) -> Version:
    """Return the newest version that the schemas or one of the release trains reach."""
    return max(NEWEST, *(stage.version for train in trains for stage in train.stages))


def _check_together(configuration: ClusterConfiguration) -> None:
    _check_versions(configuration)
    if configuration.set_context and configuration.kubeconfig is None:
        raise ConfigurationError("--set-context: no file to set it in: give one with --kubeconfig PATH as well")
    if not configuration.loopback and not configuration.tls:
        raise ConfigurationError(
            f"--bind: {configuration.bind} can be reached from other machines, which needs TLS and a token: "
            "leave out --no-tls, or listen on 127.0.0.1"
        )


def _check_versions(configuration: ClusterConfiguration) -> None:
    given = {"--version": configuration.version}
    given |= {f"--component {name}": own.version for name, own in configuration.components.items() if own.version}
    for place, version in given.items():
        try:
            read_version_up_to(str(version), configuration.newest)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from None
