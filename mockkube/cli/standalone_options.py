"""Options of the commands that run one component alone, and what they have in common."""

import logging
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mockkube.cli.parameters import parse_gate_flags, parse_version_flag
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.features.versions import DEFAULT
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.cluster.configuration.component_settings import ComponentSettings
    from mockkube.cluster.standalone import MetricsAddress

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_LEVELS: Final = ("error", "warning", "info", "debug")
_ELECTION: Final = (
    ("lease-duration", "DURATION", "How long others wait after they have seen the last renewal. [15s]"),
    ("renew-deadline", "DURATION", "How long the leader works without a renewal. [10s]"),
    ("retry-period", "DURATION", "How long to wait between tries. [2s]"),
    ("resource-lock", "leases", "Kind of object to hold: leases."),
    ("resource-name", "NAME", "Name of the Lease. [that of the component]"),
    ("resource-namespace", "NAMESPACE", "Namespace of the Lease. [kube-system]"),
)


def standalone_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every component has; the command gets them as `common`."""

    @wraps(function)
    def wrapper(*args: Any, **given: Any) -> Any:
        common = StandaloneOptions(**{one.name: given.pop(one.name) for one in fields(StandaloneOptions)})
        return function(*args, common=common, **given)

    options = (
        click.option(
            "--kubeconfig", metavar="FILE", required=True, type=click.Path(path_type=Path),
            help="How to reach the API server.",
        ),
        click.option("--context", metavar="NAME", default="", help="The context to use. [the current one]"),
        click.option(
            "--version", metavar="VERSION", default=str(DEFAULT), show_default=True, help="Version to behave as."
        ),
        click.option(
            "--feature-gates", "gates", multiple=True, metavar="GATES", help="A=true,B=false. May be repeated."
        ),
        click.option(
            "--metrics-bind-address", metavar="ADDRESS", default="",
            help="Serve /metrics and /healthz here, like 127.0.0.1:10259. [not served]",
        ),
        click.option(
            "--log-level", type=click.Choice(_LEVELS), default="warning", show_default=True, help="What is logged."
        ),
    )  # fmt: skip
    return _add_options(wrapper, options)


def leader_election_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add upstream's flags of leader election; the command gets those that are given as `election`, by name."""

    @wraps(function)
    def wrapper(*args: Any, leader_elect: str | None, **given: Any) -> Any:
        election: dict[str, Any] = {}
        if leader_elect is not None:
            election["leader-elect"] = _parse_switch(leader_elect)
        for name, _, _ in _ELECTION:
            if (value := given.pop(f"leader_elect_{name.replace('-', '_')}")) is not None:
                election[f"leader-elect-{name}"] = value
        return function(*args, election=election, **given)

    switch = click.option(
        "--leader-elect", metavar="BOOL", is_flag=False, flag_value="true", default=None,
        help="Work only while holding a Lease, or with false without one. [true]",
    )  # fmt: skip
    options = [click.option(f"--leader-elect-{name}", metavar=metavar, help=text) for name, metavar, text in _ELECTION]
    return _add_options(wrapper, (switch, *options))


def _add_options(function: Callable[..., Any], options: tuple[Decorator, ...]) -> Callable[..., Any]:
    for option in reversed(options):
        function = option(function)
    return function


def _parse_switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise ConfigurationError(f"--leader-elect: {text!r} is neither true nor false: give one of the two")
    return text == "true"


@dataclass(frozen=True, slots=True)
class StandaloneOptions:
    """Options that every component has."""

    kubeconfig: Path
    context: str
    version: str
    gates: tuple[str, ...]
    log_level: str
    metrics_bind_address: str

    def make_settings(self, component: str) -> "ComponentSettings":
        """Return version and gates of a component; ConfigurationError if it would not start with them."""
        from mockkube.cluster.configuration.component_settings import ComponentSettings
        from mockkube.features.errors import FlagError
        from mockkube.proposals.loading import default_trains

        version, gates = parse_version_flag(self.version), parse_gate_flags(self.gates, "--feature-gates")
        settings = ComponentSettings(component, version, gates, default_trains())
        try:
            settings.validate()
        except FlagError as error:
            raise ConfigurationError(f"--feature-gates: {error}") from None
        return settings

    def run(self, settings: "ComponentSettings", **more: Any) -> None:
        """Run the component until SIGINT or SIGTERM; `more` are further fields of its StandaloneConfig."""
        from mockkube.client import kubeconfig as kubeconfigs
        from mockkube.cluster.foreground import run_until_signal
        from mockkube.cluster.standalone import StandaloneConfig, run_standalone

        logging.basicConfig(
            level=self.log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s"
        )
        try:
            access = kubeconfigs.load(self.kubeconfig, self.context)
        except kubeconfigs.KubeconfigError as error:
            raise ConfigurationError(f"--kubeconfig: {error}") from None
        config = StandaloneConfig(settings, access, metrics_address=_parse_address(self.metrics_bind_address), **more)
        run_until_signal(lambda: run_standalone(config), lambda _: None)


def _parse_address(text: str) -> "MetricsAddress | None":
    """Return the address of `--metrics-bind-address`; None without one."""
    from mockkube.cluster.standalone import MetricsAddress

    if not text:
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"--metrics-bind-address: {text!r} is no address: give one like 127.0.0.1:10259")
    return MetricsAddress(host.strip("[]") or "0.0.0.0", int(port))  # noqa: S104 - upstream's default
