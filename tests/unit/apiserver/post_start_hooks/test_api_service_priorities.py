from mockkube.apiserver.post_start_hooks.api_service_priorities import Priority, priority_of


def test_the_core_group_comes_first():
    assert priority_of("", "v1") == Priority(18000, 1)


def test_a_stable_version_stands_before_one_to_come():
    stable, beta = priority_of("resource.k8s.io", "v1"), priority_of("resource.k8s.io", "v1beta1")
    assert stable is not None
    assert beta is not None
    assert stable.group == beta.group
    assert stable.version > beta.version


def test_what_is_nobodys_is_not_announced():
    assert priority_of("example.com", "v1") is None
    assert priority_of("apps", "v9") is None
