"""`mockkube assets`: write executables that test tools start in the place of etcd and kube-apiserver."""

import os
from pathlib import Path

import click

from mockkube.cli.exits import Exit
from mockkube.cli.parameters import parse_version_flag
from mockkube.cluster.configuration.errors import StartError
from mockkube.features.versions import DEFAULT

_FLAT = "flat"
_ENVTEST = "envtest"


@click.command(short_help="Write etcd and kube-apiserver executables for test tools.")
@click.argument("directory", required=False, type=click.Path(), metavar="[DIR]")
@click.option("--version", metavar="VERSION", default=str(DEFAULT), show_default=True, help="Kubernetes version.")
@click.option("--controllers", is_flag=True, help="Run scheduler, controllers and kubelets beside the API server.")
@click.option("--nodes", metavar="N", type=click.IntRange(0, 5000), default=0, help="Register N nodes that are Ready.")
@click.option(
    "--layout",
    type=click.Choice([_FLAT, _ENVTEST]),
    default=_FLAT,
    show_default=True,
    help="envtest: k8s/VERSION-OS-ARCH below DIR, where setup-envtest and envtest look.",
)
def command(directory: str | None, version: str, *, controllers: bool, nodes: int, layout: str) -> Exit:
    """Write executables etcd, kube-apiserver and kubectl into DIR and print where they are.

    Go's envtest, Java's kube-api-test and kwokctl start them in the place of the real ones:

        export KUBEBUILDER_ASSETS=$(mockkube assets)

    By default DIR is in the user's cache directory. With --controllers or --nodes, what needs more than an API server
    happens, too: namespaces are deleted, garbage is collected, deployments roll out, pods run.
    """
    from mockkube.assets.executables import find_default_directory, find_envtest_directory, write_executables
    from mockkube.assets.settings import AssetSettings

    settings = AssetSettings(parse_version_flag(version), controllers, nodes)
    target = find_default_directory(settings, os.environ) if directory is None else Path(directory)
    if layout == _ENVTEST:
        target = find_envtest_directory(target, settings)
    target = target.absolute()
    try:
        write_executables(target, settings, os.environ)
    except OSError as error:
        raise StartError(f"{target}: {error.strerror}: give a directory that can be written") from None
    click.echo(target)
    return Exit.OK
