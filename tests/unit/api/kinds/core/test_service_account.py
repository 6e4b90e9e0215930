from mockkube.api.kinds.core.service_account import ServiceAccountStrategy

STRATEGY = ServiceAccountStrategy()
ENFORCED = {"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}}


def test_references_to_secrets_keep_their_name_alone(judge):
    obj = {"metadata": {}, "secrets": [{"name": "s", "namespace": "elsewhere", "uid": "1"}]}
    STRATEGY.prepare_for_create(obj, judge())
    assert obj["secrets"] == [{"name": "s"}]


def test_the_deprecated_annotation_is_warned_of_once(judge):
    assert len(STRATEGY.warnings_on_create(ENFORCED, judge())) == 1
    assert STRATEGY.warnings_on_update(ENFORCED, ENFORCED, judge()) == []
    assert len(STRATEGY.warnings_on_update(ENFORCED, {"metadata": {}}, judge())) == 1
