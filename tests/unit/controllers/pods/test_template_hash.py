"""Hashes that names are made of."""

from mockkube.controllers.pods.template_hash import fnv32, go_json, safe_encode_string

_DATA = {
    "spec": {
        "template": {
            "$patch": "replace",
            "metadata": {"labels": {"app": "s"}},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "image": "a:1",
                        "imagePullPolicy": "IfNotPresent",
                        "resources": {},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                    }
                ],
                "dnsPolicy": "ClusterFirst",
                "nodeName": "plain-1",
                "restartPolicy": "Always",
                "schedulerName": "default-scheduler",
                "securityContext": {},
                "terminationGracePeriodSeconds": 30,
            },
        }
    }
}


def test_a_revision_of_a_stateful_set_has_the_name_it_has_upstream():
    assert safe_encode_string(fnv32(go_json(_DATA) + b"0")) == "86dbdcb4d6"


def test_json_is_sorted_and_may_stand_in_html():
    assert go_json({"b": "1 < 2 & 3 > 2", "a": 1}) == rb'{"a":1,"b":"1 \u003c 2 \u0026 3 \u003e 2"}'
