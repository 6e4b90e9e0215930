from mockkube.api.kinds.networking.ip_address import IPAddressStrategy

STRATEGY = IPAddressStrategy()


def address(**parent):
    return {"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": {"resource": "services", "name": "s", **parent}}}


def test_the_name_is_the_address():
    assert STRATEGY.validate_name("10.0.0.1") == []
    assert STRATEGY.validate_name("2001:db8:0::1") == ['must be in canonical form ("2001:db8::1")']


def test_an_address_belongs_to_something(judge):
    assert STRATEGY.validate(address(), judge()) == []
    assert [error.field for error in STRATEGY.validate({"metadata": {}, "spec": {}}, judge())] == ["spec.parentRef"]


def test_it_never_belongs_to_something_else(judge):
    (error,) = STRATEGY.validate_update(address(name="t"), address(), judge())
    assert str(error) == (
        'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"","Name":"t"}: '
        "field is immutable"
    )
