READS_NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}


async def test_a_changed_role_counts_at_once(world):
    await world.put(world.role("reader"), world.binding("b", "reader", "User jane"))
    assert world.allows(namespace="ns")
    await world.replace(world.role("reader", READS_NODES))
    assert not world.allows(namespace="ns")


async def test_a_role_gathers_the_rules_of_those_with_its_labels(world):
    await world.put(world.gathering("all", part="yes"), world.cluster_binding("b", "all", "User jane"))
    assert not world.allows()
    await world.put(world.cluster_role("pods", part="yes"), world.cluster_role("nodes", READS_NODES, part="no"))
    assert world.allows()
    assert not world.allows(resource="nodes")


async def test_a_role_gathers_what_others_gathered(world):
    outer, inner = world.gathering("outer", part="outer"), world.gathering("inner", part="inner")
    inner["metadata"]["labels"] = {"part": "outer"}
    await world.put(outer, inner, world.cluster_role("pods", part="inner"))
    await world.put(world.cluster_binding("b", "outer", "User jane"))
    assert world.allows()


async def test_roles_that_gather_each_other_come_to_an_end(world):
    one, two = world.gathering("one", part="two"), world.gathering("two", part="one")
    one["metadata"]["labels"], two["metadata"]["labels"] = {"part": "one"}, {"part": "two"}
    await world.put(one, two, world.cluster_role("pods", part="two"))
    await world.put(world.cluster_binding("b", "one", "User jane"))
    assert world.allows()


async def test_a_gathered_rule_goes_with_its_role(world):
    part = world.cluster_role("pods", part="yes")
    await world.put(world.gathering("all", part="yes"), part, world.cluster_binding("b", "all", "User jane"))
    assert world.allows()
    await world.delete(part)
    assert not world.allows()
