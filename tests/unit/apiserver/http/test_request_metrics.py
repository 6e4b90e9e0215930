"""Requests are counted under upstream's names, in the text format of Prometheus."""

from prometheus_client.parser import text_string_to_metric_families

from mockkube.apiserver.http.request_metrics import RequestLabels, RequestMetrics

PODS = RequestLabels("", "", "pods", "cluster", "", "LIST", "v1")


def samples(metrics: RequestMetrics, name: str, **labels: str) -> dict[str, float]:
    """The values of a metric with these labels, by the bound of their bucket."""
    return {
        sample.labels.get("le", ""): sample.value
        for family in text_string_to_metric_families(metrics.render().decode())
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    }


def test_requests_are_counted_by_code() -> None:
    metrics = RequestMetrics()
    for code in (200, 200, 404):
        metrics.observe(PODS, code, 0.1)
    assert samples(metrics, "apiserver_request_total", code="200", verb="LIST") == {"": 2}
    assert samples(metrics, "apiserver_request_total", code="404") == {"": 1}


def test_a_bucket_holds_all_that_took_no_longer_than_its_bound() -> None:
    metrics = RequestMetrics()
    for seconds in (0.001, 0.005, 0.006, 1.0, 60.0, 61.0):
        metrics.observe(PODS, 200, seconds)
    buckets = samples(metrics, "apiserver_request_duration_seconds_bucket", resource="pods")
    assert [buckets[bound] for bound in ("0.005", "0.025", "0.8", "1", "45", "60", "+Inf")] == [2, 3, 3, 4, 4, 5, 6]
    assert len(buckets) == 24
    assert samples(metrics, "apiserver_request_duration_seconds_count") == {"": 6}
    assert samples(metrics, "apiserver_request_duration_seconds_sum") == {"": 122.012}


def test_series_of_a_resource_that_is_no_longer_served_are_dropped() -> None:
    metrics = RequestMetrics()
    for labels in (PODS, PODS._replace(group="example.com", resource="things"), PODS._replace(group="example.com")):
        metrics.observe(labels, 200, 0.1)
    metrics.forget_resource("example.com", "things")
    assert samples(metrics, "apiserver_request_total", resource="things") == {}
    assert metrics.render().decode().count("apiserver_request_total{") == 2


def test_values_of_labels_are_escaped() -> None:
    metrics, odd = RequestMetrics(), 'a"b\\c\nd'
    metrics.observe(PODS._replace(group=odd), 200, 0.1)
    assert samples(metrics, "apiserver_request_total", group=odd) == {"": 1}


def test_there_is_text_before_the_first_request() -> None:
    assert b"# TYPE apiserver_request_total counter" in RequestMetrics().render()
