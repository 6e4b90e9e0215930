from mockkube.apiserver.identity.user import User


async def test_a_new_binding_counts_at_once(world):
    await world.put(world.role("reader"))
    assert not world.allows(namespace="ns")
    await world.put(world.binding("b", "reader", "User jane"))
    assert world.allows(namespace="ns")


async def test_a_binding_that_is_gone_grants_nothing(world):
    binding = world.binding("b", "reader", "User jane")
    await world.put(world.role("reader"), binding)
    assert world.allows(namespace="ns")
    await world.delete(binding)
    assert not world.allows(namespace="ns")


async def test_a_changed_binding_grants_to_its_new_subjects_alone(world):
    await world.put(world.role("reader"), world.binding("b", "reader", "User jane"))
    assert world.allows(namespace="ns")
    await world.replace(world.binding("b", "reader", "User joe", "Group ops"))
    assert not world.allows(namespace="ns")
    assert world.allows(User("joe"), namespace="ns")
    assert world.allows(User("ann", groups=("ops",)), namespace="ns")


async def test_the_first_subject_that_names_the_user_is_told(world):
    await world.put(world.role("reader"), world.binding("b", "reader", "Group devs", "User jane"))
    assert world.decide(namespace="ns").reason.endswith('to Group "devs"')


async def test_the_first_binding_by_name_is_told_and_those_for_everywhere_before(world):
    await world.put(world.role("reader"), world.cluster_role("reader"))
    await world.put(world.binding("b", "reader", "User jane"), world.binding("a", "reader", "Group devs"))
    assert 'RoleBinding "a/ns"' in world.decide(namespace="ns").reason
    await world.put(world.cluster_binding("z", "reader", "User jane"))
    assert 'ClusterRoleBinding "z"' in world.decide(namespace="ns").reason


async def test_namespaces_that_are_gone_leave_nothing(world):
    await world.put(world.role("reader"))
    world.allows(namespace="ns")
    for number in range(10):
        binding = world.binding(f"b{number}", "reader", "User jane", "Group ops")
        await world.put(binding)
        assert world.allows(namespace="ns")
        await world.delete(binding)
    assert not world.allows(namespace="ns")
    assert "ns" not in world.authorizer._bindings._index


async def test_rules_are_remembered_once_for_all_namespaces_without_bindings(world):
    await world.put(world.cluster_role("reader"), world.cluster_binding("all", "reader", "User jane"))
    for number in range(100):
        assert world.allows(namespace=f"ns-{number}")
    assert len(world.authorizer._bindings._cache) == 1
