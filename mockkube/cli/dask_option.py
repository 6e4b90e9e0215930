"""Options of `test` and `explore` about where work is done: processes of this machine, or a Dask cluster."""

from typing import TYPE_CHECKING

import click

from mockkube.cli.options import Decorator
from mockkube.cluster.configuration.errors import ConfigurationError, StartError

if TYPE_CHECKING:
    from mockkube.distributed.dask_pool import DaskPool

workers_option: Decorator = click.option(
    "--workers", "--jobs", "-j", "workers", type=click.IntRange(1), metavar="N",
    help="Number of processes on this machine. [one per core]",
)  # fmt: skip
dask_option: Decorator = click.option(
    "--dask", metavar="ADDRESS", help="Use the workers of a Dask cluster, like tcp://scheduler:8786."
)


def open_dask_pool(address: str, workers: int | None) -> "DaskPool":
    """Return a pool for the address of --dask, not connected yet; `workers` is the value of --workers."""
    if workers is not None:
        raise ConfigurationError("--workers: it counts processes on this machine, and --dask uses another: give one")
    try:
        from mockkube.distributed.dask_pool import DaskPool
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "mockkube":
            raise
        raise StartError(
            f"--dask: {error.name} is not installed: install it with pip install '/path/to/mockkube[distributed]' "
            "(mockkube is not on PyPI)"
        ) from None
    return DaskPool(address)
