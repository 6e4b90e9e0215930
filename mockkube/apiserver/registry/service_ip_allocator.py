"""Allocator of cluster IPs and node ports of services.

Allocated values are read from the stored services, so they are right after a restart and with several servers. A
reservation covers the time between choosing a value and storing the service.

upstream 1.36: pkg/registry/core/service/storage/alloc.go, pkg/registry/core/service/{ip,port}allocator
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from mockkube.api.errors import Internal, Invalid
from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.service import allocation
from mockkube.api.validation.addresses import Address, Network, parse_cidr, parse_ip
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.random import Random

if TYPE_CHECKING:
    from mockkube.apiserver.registry.cached_object import CachedObject
    from mockkube.apiserver.registry.resource import Resource
    from mockkube.apiserver.registry.watch_cache import CacheChange, Collection

SERVICE_CIDR: Final = "10.0.0.0/24"
NODE_PORTS: Final = range(30000, 32768)
# First node port that a dry run shows, outside of the range. The next ones follow it.
_DRY_RUN_PORT_FIRST: Final = 32769
# Sizes of the lower band of a range, which is kept for static assignment.
_STATIC_BAND_MIN: Final = 16
_STATIC_ADDRESSES_MAX: Final = 256
_STATIC_PORTS_MAX: Final = 128


@dataclass(frozen=True, slots=True)
class ServiceAllocation:
    """Addresses and node ports that one service uses."""

    addresses: tuple[Address, ...] = ()
    node_ports: tuple[int, ...] = ()

    @classmethod
    def from_service(cls, service: ReadOnlyObject) -> ServiceAllocation:
        """Read what a service uses; its health check port is a node port, too."""
        if not allocation.needs_cluster_ip(service):
            return cls()
        spec = service["spec"]
        found = [parse_ip(ip) for ip in spec.get("clusterIPs") or () if ip != "None"]
        node_ports = sorted(allocation.allocated_node_ports(service))
        if spec.get("healthCheckNodePort"):
            node_ports.append(spec["healthCheckNodePort"])
        return cls(tuple(ip for ip in found if ip is not None), tuple(node_ports))


AllocatedValue = Address | int


class Reservation:
    """Values reserved for a write that has not happened yet."""

    def __init__(self, pool: ServiceAllocations) -> None:
        self._pool = pool
        self._taken: list[AllocatedValue] = []

    def add(self, one: AllocatedValue) -> None:
        """Reserve a value."""
        self._pool.reserved[one] = self
        self._taken.append(one)

    @property
    def values(self) -> tuple[AllocatedValue, ...]:
        """Reserved values."""
        return tuple(self._taken)

    def release(self) -> None:
        """Release what no stored service uses by now. May be called again."""
        for one in self._taken:
            if self._pool.reserved.get(one) is self:
                del self._pool.reserved[one]
        self._taken.clear()


class ServiceAllocations:
    """Addresses and node ports in use, by stored services and by writes in progress."""

    def __init__(self) -> None:
        self.reserved: dict[AllocatedValue, Reservation] = {}
        self._in_use: dict[AllocatedValue, int] = {}
        self._collection: Collection | None = None

    def is_in_use(self, one: AllocatedValue) -> bool:
        """Return whether a value is in use or reserved."""
        return self.is_stored(one) or one in self.reserved

    def is_stored(self, one: AllocatedValue) -> bool:
        """Return whether a stored service uses a value."""
        return one in self._in_use

    def follow(self, services: Collection) -> None:
        """Track the values of these services from now on."""
        if self._collection is services:
            return
        self._collection = services
        self._in_use.clear()
        for cached in services.objects.values():
            self._add(cached)
        services.listeners[self._on_change] = False

    def _on_change(self, change: CacheChange) -> None:
        if change.previous is not None:
            self._drop(change.previous)
        if change.type != "DELETED":
            self._add(change.object)

    def _add(self, cached: CachedObject) -> None:
        for one in _values_of(cached):
            # Counted, because two services that were stored by other means may use the same value.
            self._in_use[one] = self._in_use.get(one, 0) + 1
            # The stored service holds the value now, so the reservation is not needed any more.
            self.reserved.pop(one, None)

    def _drop(self, cached: CachedObject) -> None:
        for one in _values_of(cached):
            self._in_use[one] -= 1
            if not self._in_use[one]:
                del self._in_use[one]


def _values_of(cached: CachedObject) -> Iterable[AllocatedValue]:
    try:
        holding = ServiceAllocation.from_service(cached.load())
    except Exception:  # what cannot be read holds nothing
        return ()
    return (*holding.addresses, *holding.node_ports)


class ServiceIpAllocator:
    """Allocator of one cluster. `cidrs` has one range, or one for each IP family, the primary one first."""

    def __init__(
        self, cidrs: Sequence[str] = (SERVICE_CIDR,), random: Random | None = None, node_ports: range = NODE_PORTS
    ) -> None:
        self.cidrs = tuple(cidrs)
        self.node_ports = node_ports
        self._ranges = [network for network in map(parse_cidr, cidrs) if network is not None]
        assert len(self._ranges) == len(cidrs), "the ranges have been checked where they were said"
        self.families = tuple(_ip_family(network) for network in self._ranges)
        self._chance = random or Random()
        self._allocations = ServiceAllocations()
        self._no_reservation = Reservation(self._allocations)

    @property
    def first_address(self) -> str:
        """Address of the service `kubernetes`."""
        return str(self._ranges[0][1])

    def allocate(
        self, storage_resource: Resource, new: Object, old: ReadOnlyObject | None, *, dry_run: bool = False
    ) -> Reservation:
        """Write addresses, IP families and node ports into a service; reserve them until it is stored or rejected.

        Called before the strategy's hooks, also for updates of the main resource. Other kinds need nothing.
        """
        if storage_resource.plural != "services" or storage_resource.group:
            return self._no_reservation
        if old is None:
            errors = allocation.init_ip_families_for_create(new, self.families)
        else:
            errors = allocation.init_ip_families_for_update(new, old, self.families)
        if errors:
            raise _invalid_service(new, errors)
        self._allocations.follow(storage_resource.collection)
        attempt = _AllocationAttempt(self, storage_resource, new, Reservation(self._allocations), dry_run=dry_run)
        try:
            attempt.run(old)
        except BaseException:
            attempt.reservation.release()
            raise
        return attempt.reservation

    def ranges_of_family(self, storage_resource: Resource, family: str) -> list[Network]:
        """Return the ranges of an IP family: those of the flags, then those of ServiceCIDR objects."""
        ranges = [network for network in self._ranges if _ip_family(network) == family]
        for network in _service_cidr_ranges(storage_resource):
            if _ip_family(network) == family and network not in ranges:
                ranges.append(network)
        return ranges

    def random_offsets(self, size: int, spread: int) -> Iterable[int]:
        """Yield every number below `size` from a random start above `spread`; those below `spread` come last."""
        # upstream: dynamic allocation prefers the upper band (KEP-3070), so that static addresses rarely collide.
        for first, count in ((spread, size - spread), (0, spread)):
            if count > 0:
                start = self._chance.generator.randrange(count)
                yield from (first + (start + step) % count for step in range(count))

    def is_in_use(self, one: AllocatedValue) -> bool:
        """Return whether a value is in use or reserved."""
        return self._allocations.is_in_use(one)

    def is_stored(self, one: AllocatedValue) -> bool:
        """Return whether a stored service uses a value."""
        return self._allocations.is_stored(one)

    def bar(self, values: Iterable[AllocatedValue]) -> Reservation:
        """Reserve values so that they are not allocated until the reservation is released."""
        barred = Reservation(self._allocations)
        for one in values:
            if not self.is_in_use(one):
                barred.add(one)
        return barred


def _ip_family(network: Network) -> str:
    return "IPv4" if network.version == 4 else "IPv6"


def _service_cidr_ranges(storage_resource: Resource) -> Iterable[Network]:
    """Yield the ranges of ServiceCIDRs that are not being deleted and not reported as unready."""
    # upstream 1.36: pkg/registry/core/service/ipallocator/cidrallocator.go, syncAllocators
    resource = storage_resource.dependencies.find_storage_resource("networking.k8s.io", "servicecidrs")
    if resource is None:
        return
    for cached in resource.collection.objects.values():
        obj = cached.load()
        read, bad = partial(_read_ranges, obj), resource.collection.bad_objects
        yield from bad.attempt("ServiceIpAllocator", "servicecidrs", cached.name, read, list[Network]())


def _read_ranges(obj: ReadOnlyObject) -> list[Network]:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    ready = all(one.get("status") == "True" for one in conditions if one.get("type") == "Ready")
    if not ready or "deletionTimestamp" in obj["metadata"]:
        return []
    return [network for cidr in obj["spec"].get("cidrs") or () if (network := parse_cidr(cidr)) is not None]


def _invalid_service(service: ReadOnlyObject, errors: list[FieldError]) -> Invalid:
    return Invalid("", "Service", service["metadata"].get("name", ""), errors)


@dataclass(slots=True)
class _AllocationAttempt:
    """Allocation for one service."""

    # upstream 1.36: pkg/registry/core/service/storage/alloc.go

    allocators: ServiceIpAllocator
    home: Resource
    service: Object
    reservation: Reservation
    dry_run: bool
    dry_run_port: int = _DRY_RUN_PORT_FIRST - 1

    def run(self, old: ReadOnlyObject | None) -> None:
        """Fill in the service, or raise an error."""
        for family, address in allocation.required_cluster_ips(self.service, old).items():
            self._set_address(
                family, self._allocate_requested_address(address) if address else self._allocate_free_address(family)
            )
        for wanted in allocation.required_node_ports(self.service, old):
            self._set_node_port(wanted)
        if allocation.needs_health_check_port(self.service) and not (old and allocation.needs_health_check_port(old)):
            self._set_health_check_port()

    def _set_address(self, family: str, address: str) -> None:
        spec = self.service["spec"]
        place = spec["ipFamilies"].index(family)
        ips = [*(spec.get("clusterIPs") or ())]
        ips[place : place + 1] = [address]
        spec["clusterIPs"] = ips
        if place == 0:
            spec["clusterIP"] = address

    def _allocate_requested_address(self, requested: str) -> str:
        address = parse_ip(requested)
        assert address is not None, "addresses are judged before they are allocated"
        family = "IPv4" if address.version == 4 else "IPv6"
        if not any(
            _is_allocatable(network, address) for network in self.allocators.ranges_of_family(self.home, family)
        ):
            raise self._address_error(requested, "the provided network does not match the current range")
        # Upstream's dry-run allocator only checks the range.
        if not self.dry_run:
            if self._is_address_in_use(address):
                raise self._address_error(requested, "provided IP is already allocated")
            self.reservation.add(address)
        return requested

    def _is_address_in_use(self, address: Address) -> bool:
        """Return whether an address is in use: by a service, or by an IPAddress object."""
        announced = self.home.dependencies.find_storage_resource("networking.k8s.io", "ipaddresses")
        return self.allocators.is_in_use(address) or (
            announced is not None and announced.get_cached("", str(address)) is not None
        )

    def _address_error(self, requested: str, why: str) -> Invalid:
        detail = f"failed to allocate IP {requested}: {why}"
        return _invalid_service(
            self.service, [invalid("spec.clusterIPs", self.service["spec"].get("clusterIPs"), detail)]
        )

    def _allocate_free_address(self, family: str) -> str:
        for network in self.allocators.ranges_of_family(self.home, family):
            if self.dry_run:
                return str(network.network_address)
            # Without the network address, and in IPv4 without the broadcast address.
            size = network.num_addresses - (2 if network.version == 4 else 1)
            spread = _static_band_size(size, step=16, size_max=_STATIC_ADDRESSES_MAX)
            for offset in self.allocators.random_offsets(size, spread):
                address = network[1 + offset]
                if not self._is_address_in_use(address):
                    self.reservation.add(address)
                    return str(address)
        name = self.service["metadata"].get("name", "")
        raise Internal(f'failed to allocate a serviceIP for Service "{name}": range is full')

    def _set_node_port(self, wanted: allocation.NodePortRequest) -> None:
        ports = self.service["spec"]["ports"]
        # The same port number for TCP and UDP shares one node port.
        if wanted.shared_with_index is not None:
            number = ports[wanted.shared_with_index]["nodePort"]
        elif wanted.node_port:
            number = wanted.node_port
            why = self._reserve_port(number)
            if why:
                raise _invalid_service(self.service, [invalid(f"spec.ports[{wanted.index}].nodePort", number, why)])
        else:
            number = self._allocate_free_port("failed to allocate a nodePort")
        ports[wanted.index]["nodePort"] = number

    def _set_health_check_port(self) -> None:
        spec = self.service["spec"]
        number = spec.get("healthCheckNodePort", 0)
        if not number:
            spec["healthCheckNodePort"] = self._allocate_free_port("failed to allocate a HealthCheck NodePort 0")
            return
        why = self._reserve_port(number)
        if why:
            raise Internal(f"failed to allocate requested HealthCheck NodePort {number}: {why}")

    def _reserve_port(self, number: int) -> str:
        """Reserve the requested node port; return an error text if that is not possible."""
        ports = self.allocators.node_ports
        if number not in ports and not self.dry_run:
            return f"provided port is not in the valid range. The range of valid ports is {ports[0]}-{ports[-1]}"
        if number in ports and self.allocators.is_in_use(number):
            return "provided port is already allocated"
        if not self.dry_run:
            self.reservation.add(number)
        self.dry_run_port = max(self.dry_run_port, number)
        return ""

    def _allocate_free_port(self, failed: str) -> int:
        if self.dry_run:
            self.dry_run_port += 1
            return self.dry_run_port
        ports = self.allocators.node_ports
        spread = _static_band_size(len(ports), step=32, size_max=_STATIC_PORTS_MAX)
        for offset in self.allocators.random_offsets(len(ports), spread):
            if not self.allocators.is_in_use(ports[offset]):
                self.reservation.add(ports[offset])
                return ports[offset]
        raise Internal(f"{failed}: range is full")


def _static_band_size(size: int, *, step: int, size_max: int) -> int:
    """Return the size of the lower band of a range; small ranges have none."""
    # upstream: calculateRangeOffset in ipallocator/bitmap.go and portallocator/allocator.go
    return 0 if size <= _STATIC_BAND_MIN else min(max(_STATIC_BAND_MIN, size // step), size_max)


def _is_allocatable(network: Network, address: Address) -> bool:
    """Return whether an address can be allocated: not the network address, nor the broadcast address."""
    if address not in network or address == network.network_address:
        return False
    return network.version == 6 or address != network.broadcast_address
