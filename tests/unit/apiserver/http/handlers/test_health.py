"""Health, check by check."""

from mockkube.apiserver.http.handlers.health import ENDPOINTS, HealthCheck, endpoint_checks, run_checks

CHECKS = [HealthCheck("ping"), HealthCheck("etcd", lambda: False)]


def told(name: str = "", checks: list[HealthCheck] = CHECKS, **query: list[str]) -> tuple[int, list[str]]:
    """The code and the lines of a report that exists."""
    made = run_checks("readyz", name, checks, query)
    assert made is not None
    return made.code, made.text.splitlines()


def test_all_is_well_in_one_word() -> None:
    assert told(checks=CHECKS[:1]) == (200, ["ok"])


def test_a_failure_lists_every_check() -> None:
    code, lines = told()
    assert (code, lines[-1]) == (500, "readyz check failed")
    assert lines[:4] == ["[+]ping ok", "[+]log ok", "[-]etcd failed: reason withheld", "[+]etcd-readiness ok"]


def test_a_verbose_report_lists_every_check() -> None:
    names = [check.name for check in endpoint_checks("readyz", [])]
    lines = told(checks=CHECKS[:1], verbose=[""])[1]
    assert lines == [*(f"[+]{name} ok" for name in names), "readyz check passed"]


def test_an_excluded_check_does_not_count() -> None:
    assert told(exclude=["etcd"]) == (200, ["ok"])
    assert "[+]etcd excluded: ok" in told(exclude=["etcd"], verbose=[""])[1]


def test_what_cannot_be_excluded_is_told() -> None:
    warning = told(exclude=["etcd", "b", "a"], verbose=[""])[1][-2]
    assert warning == 'warn: some health checks cannot be excluded: no matches for "a","b"'


def test_a_check_can_be_asked_for_by_name() -> None:
    assert told("ping") == (200, ["ok"])
    assert told("etcd") == (500, ["internal server error: etcd failed"])
    assert run_checks("readyz", "nothing", CHECKS, {}) is None


def test_only_readiness_asks_for_the_end() -> None:
    with_end = [end for end in ENDPOINTS if "shutdown" in [check.name for check in endpoint_checks(end, [])]]
    assert with_end == ["readyz"]
