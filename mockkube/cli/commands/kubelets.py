"""`mockkube kubelets`: simulate only the kubelets, against the API server of a kubeconfig."""

import click

from mockkube.cli.exits import Exit
from mockkube.cli.standalone_options import StandaloneOptions, standalone_options


@click.command(short_help="Simulate the kubelets alone, against any API server.")
@click.option("--nodes", type=click.IntRange(min=0), default=0, metavar="N", help="Register node-1 to node-N. [0]")
@click.option(
    "--node", "names", multiple=True, metavar="NAME",
    help="Register this node, and simulate no others than those named so. May be repeated.",
)  # fmt: skip
@standalone_options
def command(nodes: int, names: tuple[str, ...], common: StandaloneOptions) -> Exit:
    """Simulate the kubelets of a cluster until Ctrl-C.

    The server may be any: start a cluster of ours with `mockkube up --without kubelets`. Several processes share the
    nodes; when one ends, the others take its nodes, and pods keep running. In a cluster with real nodes name those to
    simulate with --node: without it, the kubelets of all nodes are simulated.
    """
    from mockkube.api.names import check_dns_subdomain
    from mockkube.cluster.configuration.errors import ConfigurationError
    from mockkube.features.components import KUBELET

    for name in names:
        for error in check_dns_subdomain(name):
            raise ConfigurationError(f"--node: {name!r}: {error}")
    if nodes and names:
        raise ConfigurationError("--nodes and --node: only one of the two can be meant: leave one out")
    common.run(common.make_settings(KUBELET), node_count=nodes, node_names=tuple(dict.fromkeys(names)))
    return Exit.OK
