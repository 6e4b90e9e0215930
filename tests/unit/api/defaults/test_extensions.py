from mockkube.api.kinds.apiextensions import custom_resource_definition
from mockkube.api.kinds.apiregistration import api_service
from mockkube.features.capabilities import Capabilities

CAPS = Capabilities()


def defined(**spec):
    obj = {"metadata": {}, "spec": {"names": {"kind": "Thing", "plural": "things"}, **spec}, "status": {}}
    custom_resource_definition.default_custom_resource_definition(obj, CAPS)
    return obj


def test_names_follow_from_the_kind():
    assert defined()["spec"]["names"] == {
        "kind": "Thing",
        "plural": "things",
        "singular": "thing",
        "listKind": "ThingList",
    }


def test_a_definition_without_a_kind_gets_no_names():
    assert defined(names={"kind": "", "plural": ""})["spec"]["names"] == {"kind": "", "plural": ""}


def test_nothing_is_converted():
    assert defined()["spec"]["conversion"] == {"strategy": "None"}


def test_a_converter_listens_where_https_does():
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "s"}}}}
    assert defined(conversion=conversion)["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


def test_the_stored_version_is_remembered():
    versions = [{"name": "v1", "storage": False}, {"name": "v2", "storage": True}]
    assert defined(versions=versions)["status"] == {"storedVersions": ["v2"]}
    assert defined(versions=None)["status"] == {}


def test_an_api_service_listens_where_https_does():
    remote, local = {"spec": {"service": {}}}, {"spec": {}}
    api_service.default_api_service(remote, CAPS)
    api_service.default_api_service(local, CAPS)
    assert remote == {"spec": {"service": {"port": 443}}}
    assert local == {"spec": {}}
