"""Cluster roles made of others, and protected classes of volumes."""

from mockkube.client.protocol import DELETE_DEFAULT

RULE = {"apiGroups": [""], "resources": ["things"], "verbs": ["get"]}


async def role(sim, name, rules=(), *, labels=None, **fields):
    await sim.create("ClusterRole", name, "", rules=list(rules), metadata={"labels": labels or {}}, **fields)


async def test_a_role_is_filled_from_the_roles_it_selects(sim):
    await sim.start("clusterrole-aggregation-controller")
    await role(sim, "part", [RULE], labels={"into": "whole"})
    selectors = [{"matchLabels": {"into": "whole"}}]
    await role(sim, "whole", aggregationRule={"clusterRoleSelectors": selectors})
    assert (await sim.get("ClusterRole", "whole", ""))["rules"] == [RULE]
    more = {**RULE, "verbs": ["list"]}
    await role(sim, "another", [more, RULE], labels={"into": "whole"})
    assert (await sim.get("ClusterRole", "whole", ""))["rules"] == [more, RULE]


async def test_a_rule_of_several_roles_is_aggregated_once(sim):
    await sim.start("clusterrole-aggregation-controller")
    other = {**RULE, "verbs": ["list"]}
    await role(sim, "one", [RULE, RULE, other], labels={"into": "whole"})
    await role(sim, "two", [other, RULE, other], labels={"into": "whole"})
    await role(sim, "whole", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"into": "whole"}}] * 2})
    assert (await sim.get("ClusterRole", "whole", ""))["rules"] == [RULE, other]


async def test_the_roles_for_people_are_filled_from_the_start(sim):
    await sim.start("clusterrole-aggregation-controller")
    view = await sim.get("ClusterRole", "view", "")
    edit = await sim.get("ClusterRole", "edit", "")
    assert view["rules"]
    assert all(rule in edit["rules"] for rule in view["rules"])


async def test_a_class_stays_while_a_claim_refers_to_it(sim):
    await sim.start("volumeattributesclass-protection-controller")
    await sim.create("VolumeAttributesClass", "fast", "", driverName="d.example.com", parameters={"iops": "1"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await sim.create("PersistentVolumeClaim", "c", spec={**spec, "volumeAttributesClassName": "fast"})
    await sim.delete("VolumeAttributesClass", "fast", "", options=DELETE_DEFAULT)
    assert (await sim.get("VolumeAttributesClass", "fast", ""))["metadata"]["deletionTimestamp"]
    await sim.merge("PersistentVolumeClaim", "c", {"metadata": {"finalizers": None}})
    await sim.delete("PersistentVolumeClaim", "c")
    assert await sim.get("VolumeAttributesClass", "fast", "") is None
