import pytest

from mockkube.api.errors import Forbidden, NotFound

MAKES_ROLES = {
    "apiGroups": ["rbac.authorization.k8s.io"],
    "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
    "verbs": ["create", "update"],
}
READS_SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}


def may(verb, *resources, **more):
    return {"apiGroups": ["rbac.authorization.k8s.io"], "resources": list(resources), "verbs": [verb], **more}


async def grant(world, *rules):
    await world.put(world.cluster_role("granted", *rules), world.cluster_binding("granted", "granted", "User jane"))


async def test_a_role_may_not_grant_what_its_maker_has_not(world, jane):
    with pytest.raises(Forbidden) as refused:
        await world.put(world.role("more", READS_SECRETS), user=jane)
    assert refused.value.message == (
        'roles.rbac.authorization.k8s.io "more" is forbidden: user "jane" (groups=["devs" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
    )


async def test_a_role_may_grant_what_its_maker_has(world, jane):
    await grant(world, READS_SECRETS)
    await world.put(world.role("same", READS_SECRETS), user=jane)


async def test_who_may_escalate_grants_anything(world, jane):
    await grant(world, may("escalate", "roles"))
    await world.put(world.role("more", READS_SECRETS), user=jane)
    with pytest.raises(Forbidden):
        await world.put(world.cluster_role("more", READS_SECRETS), user=jane)


async def test_administrators_grant_anything(world, admin):
    await world.put(world.role("more", READS_SECRETS), user=admin)


async def test_a_changed_role_is_judged_as_well(world, jane):
    await world.put(world.role("r"))
    with pytest.raises(Forbidden):
        await world.replace(world.role("r", READS_SECRETS), user=jane)


async def test_a_change_for_the_garbage_collector_alone_is_not_judged(world, jane):
    await world.put(world.role("r", READS_SECRETS))
    changed = world.load(world.role("r"))
    changed["metadata"]["finalizers"] = ["example.com/wait"]
    await world.replace(changed, user=jane)


async def test_gathering_rules_takes_all_rights(world, jane):
    await grant(world, READS_SECRETS)
    with pytest.raises(Forbidden) as refused:
        await world.put(world.gathering("all", part="yes"), user=jane)
    assert refused.value.message.endswith("must have cluster-admin privileges to use the aggregationRule")


async def test_a_binding_may_not_grant_what_its_maker_has_not(world, jane):
    await world.put(world.role("secrets", READS_SECRETS))
    with pytest.raises(Forbidden) as refused:
        await world.put(world.binding("b", "secrets", "User jane"), user=jane)
    assert refused.value.message.startswith('rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "jane"')


async def test_who_may_bind_a_role_binds_that_one(world, jane):
    await world.put(world.cluster_role("secrets", READS_SECRETS), world.cluster_role("others", READS_SECRETS))
    await grant(world, may("bind", "clusterroles", resourceNames=["secrets"]))
    await world.put(world.binding("b", "cluster:secrets", "User joe"), user=jane)
    await world.put(world.cluster_binding("b", "secrets", "User joe"), user=jane)
    with pytest.raises(Forbidden):
        await world.put(world.cluster_binding("c", "others", "User joe"), user=jane)


async def test_a_binding_to_a_role_that_is_not_there_needs_the_right_to_bind(world, jane):
    with pytest.raises(NotFound) as missing:
        await world.put(world.binding("b", "gone", "User jane"), user=jane)
    assert missing.value.message == 'rolebindings.rbac.authorization.k8s.io "gone" not found'
    await grant(world, may("bind", "roles"))
    await world.put(world.binding("b", "gone", "User jane"), user=jane)


async def test_roles_that_are_missing_are_told_with_what_is_not_held(world, jane):
    await world.put(world.cluster_binding("b", "gone", "User jane"))
    with pytest.raises(Forbidden) as refused:
        await world.put(world.role("more", READS_SECRETS), user=jane)
    text = '; resolution errors: [clusterroles.rbac.authorization.k8s.io "gone" not found]'
    assert refused.value.message.endswith(text)
