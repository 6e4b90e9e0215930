import pytest

from mockkube.api.kinds.networking.ingress import IngressStrategy

STRATEGY = IngressStrategy()
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}


def ingress(*rules, annotations=None, **spec):
    metadata = {"name": "i", "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"rules": list(rules), **spec}, "status": {"loadBalancer": {}}}


def rule(path="/", kind="Prefix", host="a.b", backend=BACKEND):
    return {"host": host, "http": {"paths": [{"path": path, "pathType": kind, "backend": backend}]}}


AT = "spec.rules[0].http.paths[0]"


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(ingress(rule()), [], id="fine"),
        pytest.param(
            ingress(), ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"], id="nothing"
        ),
        pytest.param(
            ingress(rule("/a//b")), [f"{AT}.path: Invalid value: \"/a//b\": must not contain '//'"], id="double slash"
        ),
        pytest.param(
            ingress(rule("/a/..")), [f"{AT}.path: Invalid value: \"/a/..\": cannot end with '/..'"], id="climbing"
        ),
        pytest.param(ingress(rule("", "ImplementationSpecific")), [], id="no path where anything goes"),
        pytest.param(
            ingress(rule(kind="Odd")),
            [f'{AT}.pathType: Unsupported value: "Odd": supported values: "Exact", "ImplementationSpecific", "Prefix"'],
            id="unknown type",
        ),
        pytest.param(
            ingress(rule(host="1.2.3.4")),
            ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address'],
            id="address",
        ),
        pytest.param(
            ingress(rule(backend={"service": {"name": "s"}})),
            [f"{AT}.backend: Required value: port name or number is required"],
            id="no port",
        ),
        pytest.param(
            ingress(rule(), annotations={"kubernetes.io/ingress.class": "x"}, ingressClassName="y"),
            [
                'annotations.kubernetes.io/ingress.class: Invalid value: "x": must match `ingressClassName` when both '
                "are specified"
            ],
            id="two classes",
        ),
    ],
)
def test_rules_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_a_secret_that_was_misnamed_may_stay_so(judge):
    obj = ingress(rule(), tls=[{"secretName": "Bad_"}])
    assert STRATEGY.validate(obj, judge()) != []
    assert STRATEGY.validate_update(obj, obj, judge()) == []


def test_the_annotation_is_warned_of(judge):
    assert len(STRATEGY.warnings_on_create(ingress(annotations={"kubernetes.io/ingress.class": "x"}), judge())) == 1
