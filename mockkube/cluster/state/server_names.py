"""Names and addresses of a server: those in its certificate, and the one at which others reach it."""

from contextlib import suppress

from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.values import WILDCARD_ADDRESSES


def find_certificate_names(configuration: ClusterConfiguration) -> list[str]:
    """Return the names of the serving certificate besides those that every cluster has."""
    names = [*find_machine_names(configuration.bind), *configuration.cert_extra_sans]
    if configuration.join or configuration.advertise_address is not None:
        names.append(configuration.advertise_address or find_advertised_address(configuration.bind))
    return names


def find_machine_names(bind_address: str) -> list[str]:
    """Return further names for the serving certificate: the address, or on a wildcard the host's name and addresses."""
    if bind_address not in WILDCARD_ADDRESSES:
        return [bind_address]
    import socket

    name = socket.gethostname()
    with suppress(OSError):
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        return [name, *sorted({str(address[4][0]).partition("%")[0] for address in found})]
    return [name]


def find_advertised_address(bind_address: str) -> str:
    """Return the address at which others reach a server: the one it listens on, or on a wildcard the machine's own."""
    if bind_address not in WILDCARD_ADDRESSES:
        return bind_address
    import socket

    family, target = (socket.AF_INET6, "2001:db8::1") if ":" in bind_address else (socket.AF_INET, "192.0.2.1")
    # Connecting a datagram socket sends nothing; it chooses the address of the default route, as upstream does.
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((target, 9))
        return str(probe.getsockname()[0])
    return "::1" if ":" in bind_address else "127.0.0.1"
