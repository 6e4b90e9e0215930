from mockkube.apiserver.post_start_hooks.api_service_priorities import ApiServicePriority, get_priority


def test_the_core_group_comes_first():
    assert get_priority("", "v1") == ApiServicePriority(18000, 1)


def test_a_stable_version_stands_before_one_to_come():
    stable, beta = get_priority("resource.k8s.io", "v1"), get_priority("resource.k8s.io", "v1beta1")
    assert stable is not None
    assert beta is not None
    assert stable.group == beta.group
    assert stable.version > beta.version


def test_what_is_nobodys_is_not_announced():
    assert get_priority("example.com", "v1") is None
    assert get_priority("apps", "v9") is None
