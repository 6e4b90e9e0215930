"""What may help a pod that was refused for its claims."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.dynamic_resources.plugin import DynamicResources

Hinted = Callable[[Any, PodInfo, ClusterEvent], bool]
GIVEN = {"allocation": {"devices": {}}}


@pytest.mark.parametrize(
    ("name", "before", "after", "helps"),
    [
        pytest.param("c", None, {}, True, id="its claim is there"),
        pytest.param("d", None, {}, False, id="another claim is there"),
        pytest.param("d", GIVEN, {}, True, id="another claim gave its devices back"),
        pytest.param("c", {}, GIVEN, True, id="its claim has devices"),
        pytest.param("d", {}, GIVEN, False, id="another claim has devices"),
        pytest.param("c", GIVEN, GIVEN, False, id="nothing of its status changed"),
    ],
)
def test_a_claim_helps(
    pool: Any,
    claim_for: Any,
    event: Callable[..., ClusterEvent],
    hinted: Hinted,
    name: str,
    before: Any,
    after: Any,
    helps: bool,
) -> None:
    pool.other("ResourceClaim", claim_for("c"))
    old = None if before is None else claim_for(name, status=before)
    action = ActionType.ADD if before is None else ActionType.UPDATE
    happened = event(EventResource.RESOURCE_CLAIM, action, old, claim_for(name, status=after))
    assert hinted(pool.build(DynamicResources), pool.uses("c"), happened) is helps


def test_no_claim_helps_a_pod_whose_own_is_not_there(
    pool: Any, claim_for: Any, event: Callable[..., ClusterEvent], hinted: Hinted
) -> None:
    happened = event(EventResource.RESOURCE_CLAIM, ActionType.UPDATE, claim_for("d", status=GIVEN), claim_for("d"))
    assert not hinted(pool.build(DynamicResources), pool.uses("c"), happened)


@pytest.mark.parametrize(
    ("version", "helps"), [pytest.param("1.36", False, id="1.36"), pytest.param("1.37", True, id="1.37")]
)
def test_a_claim_that_goes_with_its_devices(
    pools: Callable[..., Any],
    claim_for: Any,
    event: Callable[..., ClusterEvent],
    hinted: Hinted,
    version: str,
    helps: bool,
) -> None:
    pool = pools(version)
    pool.other("ResourceClaim", claim_for("c"))
    happened = event(EventResource.RESOURCE_CLAIM, ActionType.DELETE, claim_for("d", status=GIVEN))
    assert hinted(pool.build(DynamicResources), pool.uses("c"), happened) is helps


def test_the_name_of_its_claim_helps_the_pod_it_was_made_for(
    pool: Any, claim_for: Any, event: Callable[..., ClusterEvent], hinted: Hinted
) -> None:
    named = [{"name": "x", "resourceClaimTemplateName": "t"}]
    waiting = pool.pod(resourceClaims=named)
    status = {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "c"}]}
    told = PodInfo({**waiting.obj, "status": status})
    claim = claim_for("c")
    claim["metadata"]["ownerReferences"] = [{"name": waiting.name, "uid": waiting.uid, "controller": True}]
    pool.other("ResourceClaim", claim)
    plugin = pool.build(DynamicResources)
    generated = ActionType.POD_GENERATED_CLAIM
    assert hinted(plugin, waiting, event(EventResource.UNSCHEDULED_POD, generated, waiting, told))
    assert not hinted(plugin, pool.uses("d"), event(EventResource.UNSCHEDULED_POD, generated, waiting, told))
    assert not hinted(plugin, waiting, event(EventResource.UNSCHEDULED_POD, generated, waiting, waiting))


def test_rules_that_taint_devices_matter_where_they_are_known(
    pools: Callable[..., Any], event: Callable[..., ClusterEvent], hinted: Hinted
) -> None:
    gone = event(EventResource.DEVICE_TAINT_RULE, ActionType.DELETE, {})
    for known in (True, False):
        pool = pools("1.36", {"DRADeviceTaintRules": known})
        assert hinted(pool.build(DynamicResources), pool.uses(), gone) is known
