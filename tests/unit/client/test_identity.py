"""Components are known by upstream's names."""

import pytest

from mockkube.client import identity
from mockkube.client.identity import ClientIdentity
from mockkube.features.versions import Version

V = Version(1, 35)


@pytest.mark.parametrize(
    ("known", "user", "group", "program"),
    [
        (identity.scheduler(V), "system:kube-scheduler", "system:authenticated", "kube-scheduler"),
        (
            identity.controller_manager(V),
            "system:kube-controller-manager",
            "system:authenticated",
            "kube-controller-manager",
        ),
        (
            identity.controller("job-controller", V),
            "system:serviceaccount:kube-system:job-controller",
            "system:serviceaccounts:kube-system",
            "kube-controller-manager",
        ),
        (identity.kubelet("n1", V), "system:node:n1", "system:nodes", "kubelet"),
        (identity.kubelets(V), "system:kubelets", "system:masters", "kubelet"),
    ],
)
def test_a_component_is_a_user_with_groups_and_a_program(
    known: ClientIdentity, user: str, group: str, program: str
) -> None:
    assert (known.user, group in known.groups) == (user, True)
    assert known.user_agent.startswith(f"{program}/v1.35.")
