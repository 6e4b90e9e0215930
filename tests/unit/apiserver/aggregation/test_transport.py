from multidict import CIMultiDict

from mockkube.apiserver.aggregation.transport import set_user_headers
from mockkube.apiserver.identity.user import User


def test_the_client_is_named_and_nobody_else():
    headers = CIMultiDict({"x-remote-user": "evil", "X-Remote-Extra-Scopes": "all", "Accept": "*/*"})
    headers.add("X-Remote-Group", "system:masters")
    set_user_headers(headers, User("joe", "u-1", ("a", "b"), {"example.com/scopes": ("x", "y")}))
    assert sorted(headers.items()) == [
        ("Accept", "*/*"),
        ("X-Remote-Extra-example.com%2Fscopes", "x"),
        ("X-Remote-Extra-example.com%2Fscopes", "y"),
        ("X-Remote-Group", "a"),
        ("X-Remote-Group", "b"),
        ("X-Remote-Uid", "u-1"),
        ("X-Remote-User", "joe"),
    ]
