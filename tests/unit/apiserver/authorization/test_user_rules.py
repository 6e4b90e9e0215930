"""The rule that is found for a request is the first one that allows it, however often the user asks."""

from hypothesis import given
from hypothesis import strategies as st

from mockkube.apiserver.authorization.binding_index import GrantedRule, UserRules
from mockkube.apiserver.authorization.rules import PolicyRule
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes, Decision

USER = User("somebody")
VERBS = ("get", "create")
RESOURCES = ("pods", "leases", "pods/binding")
NAMES = ("", "a", "b")
PATHS = ("/healthz", "/metrics")


def subset(values: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), unique=True, max_size=2).map(tuple)


RULES = st.builds(
    PolicyRule,
    verbs=subset((*VERBS, "*")),
    groups=subset(("", "coordination.k8s.io", "*")),
    resources=subset((*RESOURCES, "*", "*/binding")),
    names=subset(NAMES[1:]),
    urls=subset((*PATHS, "/*")),
)
RESOURCE_REQUESTS = st.tuples(
    st.just(USER),
    st.sampled_from(VERBS),
    st.sampled_from(("", "coordination.k8s.io")),
    st.sampled_from(("pods", "leases")),
    st.sampled_from(("", "binding")),
    st.just("default"),
    st.sampled_from(NAMES),
).map(lambda fields: AuthorizationAttributes(*fields))
PATH_REQUESTS = st.tuples(st.sampled_from(VERBS), st.sampled_from(PATHS)).map(
    lambda fields: AuthorizationAttributes(USER, fields[0], path=fields[1])
)
REQUESTS = st.one_of(RESOURCE_REQUESTS, PATH_REQUESTS)


@given(rules=st.lists(RULES, max_size=6), requests=st.lists(REQUESTS, min_size=1, max_size=12))
def test_the_first_rule_that_allows_a_request_is_found_each_time(
    rules: list[PolicyRule], requests: list[AuthorizationAttributes]
) -> None:
    granted = [GrantedRule(rule, Decision(allowed=True, reason=f"rule {number}")) for number, rule in enumerate(rules)]
    held = UserRules(tuple(granted), ())
    for request in requests:
        first = next((one for one in granted if one.rule.allows(request)), None)
        assert held.find(request) is first
