"""`mockkube up`: run a cluster in the foreground until it is stopped."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mockkube.cli.exits import Exit

if TYPE_CHECKING:
    from mockkube.cluster.cluster import RunningCluster

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _value_option(*names: str, metavar: str, text: str, multiple: bool = False) -> Decorator:
    """Return an option whose text is parsed with the other layers of the configuration."""
    completed = click.Path() if metavar in ("PATH", "FILE") else click.STRING
    return click.option(*names, metavar=metavar, help=text, multiple=multiple, type=completed)


def _flag_option(names: str, *, text: str) -> Decorator:
    return click.option(names, default=None, is_flag=True, help=text)


@click.command(short_help="Start a cluster in the foreground.")
@_value_option("--port", metavar="N", text="Port to listen on; 0 picks a free one. [6443]")
@_value_option("--bind", metavar="ADDRESS", text="Address to listen on. [127.0.0.1]")
@_value_option("--name", metavar="NAME", text="Name of the cluster; each has a state directory of its own. [default]")
@_value_option("--version", metavar="VERSION", text="Kubernetes version to emulate. [1.36]")
@_value_option("--feature-gates", multiple=True, metavar="GATES", text="A=true,B=false; or component:Gate=BOOL.")
@_value_option(
    "--component", "components", multiple=True, metavar="NAME=VERSION[,GATES]",
    text="Version and gates of one component, like kube-scheduler=1.35,A=false. May be repeated.",
)  # fmt: skip
@_value_option(
    "--proposal", "proposals", multiple=True, metavar="FILE", text="A proposal from outside. May be repeated."
)
@_value_option("--release-trains", metavar="JSON", text="Let gates follow other release trains: [{gate, stages}].")
@_value_option(
    "--skew-policy", metavar="POLICY", text="Versions that do not go together: enforce, warn, ignore. [warn]"
)
@_value_option("--clock", metavar="MODE", text="real, or virtual: time stands still until it is moved. [real]")
@_value_option("--nodes", metavar="N", text="Register N nodes that are Ready. [0]")
@_value_option("--without", multiple=True, metavar="PARTS", text="Leave out scheduler, controllers, kubelets.")
@_value_option("--db", metavar="URL", text="Where to keep the cluster. [SQLite in the state directory]")
@_flag_option("--ephemeral", text="Keep the cluster in memory; nothing outlives it.")
@_value_option("--snapshot", metavar="FILE", text="Start from what 'mockkube import' wrote.")
@_value_option("--kubeconfig", metavar="PATH", text="Merge the cluster's context into this kubeconfig too.")
@_flag_option("--set-context", text="Make it the current context of that kubeconfig.")
@_value_option("--ready-file", metavar="PATH", text="Write where the cluster is, as JSON, once it answers.")
@_flag_option("--tls/--no-tls", text="Serve HTTPS, or plain HTTP on loopback. [--tls]")
@_value_option(
    "--allowed-hosts", multiple=True, metavar="NAMES", text="Without TLS: names besides localhost to answer to."
)
@_flag_option("--disable-http2-serving", text="Serve HTTP/1.1 only.")
@_value_option(
    "--token", metavar="TOKEN", text="The administrator's bearer token; better kept in a file. [a random one]"
)
@_value_option("--token-file", metavar="FILE", text="A file whose first line is the administrator's bearer token.")
@_value_option("--cert-extra-sans", multiple=True, metavar="NAMES", text="Further names in the serving certificate.")
@_value_option("--advertise-address", metavar="ADDRESS", text="Where others reach this server. [that of --bind]")
@_flag_option("--join", text="Join the control plane that uses the database of --db, or begin one.")
@_value_option("--cluster-id", metavar="ID", text="Join the control plane of this name only.")
@_value_option("--cluster-key-file", metavar="FILE", text="A file whose first line encrypts shared credentials.")
@_flag_option(
    "--leader-elect/--no-leader-elect", text="Run scheduler and controllers while they hold a Lease. [with --join]"
)
@_value_option("--enable-admission-plugins", multiple=True, metavar="NAMES", text="Plugins to add to the default ones.")
@_value_option("--disable-admission-plugins", multiple=True, metavar="NAMES", text="Default plugins to leave out.")
@_value_option(
    "--runtime-config", multiple=True, metavar="VERSIONS", text="API versions to serve, like api/alpha=true."
)
@_value_option("--scheduler-config", metavar="FILE", text="A KubeSchedulerConfiguration for the scheduler.")
@_value_option(
    "--controllers", multiple=True, metavar="NAMES", text="Which controllers run, like '*,-daemonset'. ['*']"
)
@_value_option(
    "--controller-manager", multiple=True, metavar="FLAGS",
    text="Other flags of the controller manager, like node-monitor-grace-period=20s. May be repeated.",
)  # fmt: skip
@_value_option(
    "--metrics-api", metavar="MODE", text="Serve metrics.k8s.io: on, off, or auto: where kubelets are simulated. [auto]"
)
@_value_option("--tracing-config-file", metavar="FILE", text="A TracingConfiguration: send traces with OTLP over HTTP.")
@_flag_option("--ui", text="Serve a page of the cluster, and print a link that opens it once.")
@_value_option("--ui-port", metavar="N", text="Port of the page. [a free one]")
@_value_option("--log-level", metavar="LEVEL", text="error, warning, info or debug. [warning]")
@_value_option("--config", metavar="FILE", text="Read what is not said here from a ClusterConfiguration file.")
def command(config: str | None, **flags: Any) -> Exit:
    """Start a cluster in the foreground; Ctrl-C or 'mockkube down' stops it.

    Every flag can also be given as a variable, like MOCKKUBE_PORT, or in the --config file. Flags come first, then
    variables, then the file.
    """
    from mockkube.cli.process_list import hide_argument
    from mockkube.cluster.configuration.cluster_configuration import resolve_configuration

    # As early as possible: until then every user of the machine can read the token with `ps`.
    if flags["token"]:
        hide_argument(flags["token"])
    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    path = None if config is None else Path(config).expanduser()
    configuration = resolve_configuration(given, os.environ, path)

    from mockkube.cluster.foreground import run_in_foreground

    def ready(running: "RunningCluster") -> None:
        click.echo(f"Cluster {running.name!r} (Kubernetes {configuration.version}) is ready at {running.url}")
        click.echo(format_export_line(str(running.kubeconfig)))
        if line := format_path_line(sys.argv[0], os.environ.get("PATH", "")):
            click.echo(line)
        if running.ui_link:
            click.echo(f"Open the page of the cluster, once: {running.ui_link}")
        sys.stdout.flush()

    run_in_foreground(configuration, os.environ, ready=ready)
    return Exit.OK


def format_path_line(program: str, path: str) -> str:
    """Return the shell line that puts mockkube on the path; empty if the shell finds it."""
    folder = os.path.dirname(os.path.abspath(program))
    # which() passes over directories: a checkout holds one named mockkube.
    if shutil.which("mockkube", path=path) is not None or shutil.which("mockkube", path=folder) is None:
        return ""
    return f'export PATH={shlex.quote(folder)}:"$PATH"'


def format_export_line(kubeconfig: str) -> str:
    """Return the shell line that selects the cluster's kubeconfig."""
    return f"export KUBECONFIG={shlex.quote(kubeconfig)}"
