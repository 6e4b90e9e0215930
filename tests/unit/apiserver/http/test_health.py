"""Health, check by check."""

from mockkube.apiserver.http.health import Check, report

CHECKS = [Check("ping", lambda: True), Check("etcd", lambda: False)]


def told(name: str = "", checks: list[Check] = CHECKS, **query: list[str]) -> tuple[int, str]:
    """The code and the text of a report that exists."""
    made = report("readyz", name, checks, query)
    assert made is not None
    return made.code, made.text


def test_all_is_well_in_one_word() -> None:
    assert told(checks=CHECKS[:1]) == (200, "ok")


def test_a_failure_lists_every_check() -> None:
    assert told() == (500, "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n")


def test_a_verbose_report_lists_every_check() -> None:
    assert told(checks=CHECKS[:1], verbose=[""]) == (200, "[+]ping ok\nreadyz check passed\n")


def test_an_excluded_check_does_not_count() -> None:
    assert told(exclude=["etcd"]) == (200, "ok")
    assert told(exclude=["etcd"], verbose=[""])[1] == "[+]ping ok\n[+]etcd excluded: ok\nreadyz check passed\n"


def test_a_check_can_be_asked_for_by_name() -> None:
    assert told("ping") == (200, "ok")
    assert told("etcd") == (500, "internal server error: etcd failed\n")
    assert report("readyz", "nothing", CHECKS, {}) is None
