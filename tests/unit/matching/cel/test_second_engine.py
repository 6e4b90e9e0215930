"""An independent engine agrees on what the language itself says: no costs, no texts, no Kubernetes functions."""

import celpy
import pytest
from celpy.adapter import json_to_cel
from mockkube_cel.values import CelError

from mockkube.matching.cel.tolerations import TAINT_ENVIRONMENT, evaluate

_TAINTS = (
    {"key": "env.example.com/dev", "value": "", "effect": "NoSchedule"},
    {"key": "sla", "value": "950", "effect": "NoExecute"},
    {"key": "dedicated", "value": "gpu", "effect": "PreferNoSchedule"},
)
_EXPRESSIONS = (
    "taint.key == 'dedicated' && (taint.value == 'gpu' || taint.value == 'tpu')",
    "taint.key.startsWith('env.') || taint.effect.endsWith('Execute')",
    "taint.key in ['sla', 'dedicated']",
    "taint.value != '' && int(taint.value) > 900",
    "taint.value == '' ? taint.key.contains('/') : taint.value.size() == 3",
    "[1, 2, 3].filter(x, x % 2 == 1).map(x, x * x) == [1, 9]",
    "[taint.key, taint.value, taint.effect].exists(s, s.matches('^g[a-z]+$'))",
    "[1, 2, 3].exists_one(x, x > size(taint.value))",
    "{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])",
    "'b' in {'a': 1} || 'a' in {'a': 1}",
    "has({'a': 1}.a) && !has({'a': 1}.b)",
    "-7 / 2 == -3 && -7 % 2 == -1",
    "1.5 + 2.5 == 4.0 && 7u / 2u == 3u",
    "'a' < 'b' && b'ab' + b'c' == b'abc'",
    "duration('90s') > duration('1m')",
    "timestamp('2024-02-29T12:30:00Z').getDayOfMonth() == 28",
    "type(taint.key) == string && type([]) == list",
    "string(12) == '12' && double('1.5') == 1.5 && bool('true')",
    "1 / 0 == 1 || true",
    "taint.key.size() / 0 == 1",
)


@pytest.mark.parametrize("text", _EXPRESSIONS)
@pytest.mark.parametrize("taint", [pytest.param(taint, id=taint["key"]) for taint in _TAINTS])
def test_both_engines_agree(text: str, taint: dict[str, str]) -> None:
    mine = evaluate(TAINT_ENVIRONMENT.compile(text), taint).value
    environment = celpy.Environment()
    program = environment.program(environment.compile(text))
    try:
        theirs: object = bool(program.evaluate({"taint": json_to_cel(taint)}))
    except celpy.CELEvalError:
        theirs = None
    assert (None if isinstance(mine, CelError) else mine) == theirs
