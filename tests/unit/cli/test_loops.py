"""What gets nowhere, as metrics tell."""

from mockkube.cli.loops import HotLoopReport, parse_hot_loops

PAGE = """
# HELP mockkube_controller_loop_rate Times a minute.
# TYPE mockkube_controller_loop_rate gauge
mockkube_controller_loop_rate{cause="failing",controller="job",object="default/j"} 12.0
# HELP mockkube_kubelet_loop_rate Times a minute.
# TYPE mockkube_kubelet_loop_rate gauge
mockkube_kubelet_loop_rate{cause="OutOfcpu",controller="admission",object="ReplicaSet default/web"} 7.0
# HELP other_rate Something else.
# TYPE other_rate gauge
other_rate{controller="x",object="y",cause="z"} 1.0
"""


def test_loops_are_read_from_the_metrics_of_a_component() -> None:
    assert list(parse_hot_loops("kubelet", PAGE)) == [
        HotLoopReport("kubelet", "job", "default/j", "failing", 12),
        HotLoopReport("kubelet", "admission", "ReplicaSet default/web", "OutOfcpu", 7),
    ]
