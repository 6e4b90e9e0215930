"""What a container's command says: its end, its code, its output."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.interpreter import CommandResult, ContainerEnd, interpret
from mockkube.shell.machine.machine import ENDLESS

BEGAN = datetime(2030, 1, 1, tzinfo=UTC)


def pod_of(container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "ns", "uid": "u1", "labels": {"app": "web"}}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}, "status": {"podIP": "10.0.0.7"}}


def said(*command: str, run: int = 0, until: float = ENDLESS, volumes: Any = (), **container: Any) -> CommandResult:
    whole = {"name": "main", "image": "busybox", "command": list(command), **container}
    return interpret(pod_of(whole, volumes=list(volumes)), whole, ContainerStart(run, BEGAN), until=until)


def script(text: str, **how: Any) -> CommandResult:
    return said("sh", "-c", text, **how)


def log(reading: CommandResult) -> str:
    return "".join(printed.text for printed in reading.printed)


@pytest.mark.parametrize(
    ("command", "code", "seconds"),
    [
        pytest.param(["true"], 0, 0, id="true"),
        pytest.param(["/bin/false"], 1, 0, id="a program by its path"),
        pytest.param(["sleep", "1m", "1.5"], 0, 61.5, id="sleep"),
        pytest.param(["sleep", "soon"], 1, 0, id="a sleep that is wrong"),
        pytest.param(["cat"], 0, 0, id="nothing to read"),
        pytest.param(["sh"], 0, 0, id="a shell with nothing to do"),
        pytest.param(["timeout", "5", "sleep", "100"], 124, 5, id="time out"),
    ],
)
def test_a_program_ends(command: list[str], code: int, seconds: float) -> None:
    assert said(*command) == CommandResult(ContainerEnd.EXITS, code, seconds, said(*command).printed)


@pytest.mark.parametrize(
    ("text", "code", "seconds"),
    [
        pytest.param("exit 3", 3, 0, id="exit"),
        pytest.param("exit 300", 44, 0, id="codes are bytes"),
        pytest.param("sleep 5; exit 1", 1, 5, id="one after the other"),
        pytest.param("sleep 5\n# why\nfalse", 1, 5, id="line by line"),
        pytest.param("true && exit 4 || exit 5", 4, 0, id="and"),
        pytest.param("false && exit 4 || exit 5", 5, 0, id="or"),
        pytest.param("! true", 1, 0, id="not"),
        pytest.param("false; exit $?", 1, 0, id="the last code"),
        pytest.param("set -e; false; exit 7", 1, 0, id="the first error"),
        pytest.param("set -euo pipefail\nif false; then :; fi; false || true; exit 7", 7, 0, id="errors in conditions"),
        pytest.param("x=$(false); exit $?", 1, 0, id="the code of a substitution"),
        pytest.param("if [ 1 -gt 2 ]; then exit 1; elif [ a = a ]; then exit 2; else exit 3; fi", 2, 0, id="if"),
        pytest.param("if [[ -n abc && abc == a* ]] ; then exit 6 ; fi", 6, 0, id="double brackets"),
        pytest.param("exit $(expr 7 % 2)", 1, 0, id="expr"),
        pytest.param("exit $(( (2 + 3) * 4 - 1 ))", 19, 0, id="arithmetic"),
        pytest.param("a=1; b=1; x=$((0 ? a++ : (b += 4))); exit $((a * 10 + b + x))", 20, 0, id="a condition"),
        pytest.param("exit $((1 ? 2 : 1 / 0))", 2, 0, id="the other branch is not computed"),
        pytest.param("a=1; x=$((0 && a++)); y=$((1 || a++)); exit $((a + x * 10 + y * 20))", 21, 0, id="and, or"),
        pytest.param("i=0; while [ $i -lt 3 ]; do sleep 2; i=$((i+1)); done; exit $i", 3, 6, id="while"),
        pytest.param("i=3; until [ $i -eq 0 ]; do i=`expr $i - 1`; done", 1, 0, id="until"),
        pytest.param("for i in 1 2 3; do sleep $i; [ $i = 2 ] && break; done", 0, 3, id="for and break"),
        pytest.param("for i in $(seq 3); do test $i = 2 && continue; sleep $i; done", 0, 4, id="seq and continue"),
        pytest.param("while true; do sleep 1; exit 9; done", 9, 1, id="a loop that is left"),
        pytest.param("case ab in x|y) exit 1;; a*) exit 2;; *) exit 3;; esac", 2, 0, id="case"),
        pytest.param("f() { return $1; }; f 5; exit $?", 5, 0, id="a function"),
        pytest.param("(exit 3); exit $(($? + 1))", 4, 0, id="a subshell"),
        pytest.param("{ sleep 1; sleep 2; } >/dev/null 2>&1", 0, 3, id="a group with redirections"),
        pytest.param("exec sleep 7; exit 1", 0, 7, id="exec"),
        pytest.param("trap 'exit 0' TERM; sleep 3", 0, 3, id="trap is passed over"),
        pytest.param("sleep 5 & sleep 3; wait", 0, 5, id="in the background"),
        pytest.param("sleep 100 & exit 2", 2, 0, id="nobody waits for the background"),
        pytest.param("exit ${CODE:-12}", 12, 0, id="a default"),
        pytest.param("x=a.b.c; [ ${x%.*} = a.b ] && [ ${x##*.} = c ] && exit 8", 8, 0, id="trimmed"),
        pytest.param("echo one | cat | grep -q one && exit 9", 9, 0, id="a pipe"),
        pytest.param("touch /tmp/x; [ -f /tmp/x ] && exit 5", 5, 0, id="a file of its own"),
        pytest.param("sh -c 'exit $1' name 6", 6, 0, id="a shell in a shell"),
        pytest.param("exit 1; <<<", 1, 0, id="what comes after its end"),
        pytest.param("exit 1; python3 x.py", 1, 0, id="an unknown program after its end"),
        pytest.param("false || exit 2 && nginx", 2, 0, id="an unknown program that is not reached"),
    ],
)
def test_a_script_ends(text: str, code: int, seconds: float) -> None:
    reading = script(text)
    assert (reading.end, reading.code, reading.seconds) == (ContainerEnd.EXITS, code, seconds)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("while true; do curl example.com; sleep 5; done", id="a loop whatever it does"),
        pytest.param("until false; do :; done", id="until never"),
        pytest.param("sleep infinity", id="sleep"),
        pytest.param("tail -f /dev/null", id="tail"),
        pytest.param("while [ ! -e /tmp/done ]; do sleep 1; done", id="a file that never comes"),
        pytest.param("sleep 1; exec sleep inf", id="exec"),
        pytest.param("sleep inf & wait", id="wait"),
    ],
)
def test_a_script_runs_until_it_is_stopped(text: str) -> None:
    assert script(text).end is ContainerEnd.RUNS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("nginx", id="an unknown program"),
        pytest.param("nginx || true", id="its code decides"),
        pytest.param("while true; do curl x && break; done", id="it may leave the loop"),
        pytest.param("set -e; while true; do curl x; done", id="its error would end it"),
        pytest.param("[ -f /etc/passwd ] && exit 1", id="a file of the image"),
        pytest.param("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", id="too many steps"),
        pytest.param("f() { f; }; f", id="without an end"),
        pytest.param("x=aaaaaaaaaaaaaaaa; while true; do x=$x$x; [ $x ] || exit 1; done", id="too long a text"),
        pytest.param("cat <<EOF\nx\nEOF", id="a here document"),
        pytest.param("exit $((1/0))", id="no number"),
        pytest.param("$(" * 500, id="nested without an end"),
        pytest.param("exit $((" + "(" * 500, id="parentheses"),
    ],
)
def test_a_script_does_not_say(text: str) -> None:
    assert script(text).end is ContainerEnd.UNKNOWN


def test_what_is_said_before_is_kept() -> None:
    reading = script("echo hello; sleep 5; nginx")
    assert (reading.end, reading.seconds, log(reading)) == (ContainerEnd.UNKNOWN, 5, "hello\n")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param("echo -n a; echo b  c", "ab c\n", id="echo"),
        pytest.param("echo -e 'a\\tb'", "a\tb\n", id="escapes"),
        pytest.param("""echo "it's $((1+1))" '$x' \\$y""", "it's 2 $x $y\n", id="quotes"),
        pytest.param("printf '%s-%03d\\n' a 7 b 8", "a-007\nb-008\n", id="printf"),
        pytest.param("x='a  b'; echo $x; echo \"$x\"", "a b\na  b\n", id="splitting"),
        pytest.param("echo out; echo err >&2; echo none >/dev/null", "out\nerr\n", id="redirections"),
        pytest.param("echo a > /tmp/f; echo b >> /tmp/f; cat /tmp/f", "a\nb\n", id="a file"),
        pytest.param("for x in a b; do echo $x; done | tee /tmp/f", "a\nb\n", id="a loop into a pipe"),
        pytest.param("set -- a b; echo $# $1 \"$@\"", "2 a a b\n", id="arguments"),
        pytest.param("date", "Tue Jan  1 00:00:00 UTC 2030\n", id="date"),
        pytest.param("sleep 61; date -u +%FT%TZ", "2030-01-01T00:01:01Z\n", id="date as asked for"),
        pytest.param("(sleep 1; echo late) & echo early; wait", "early\nlate\n", id="side by side"),
        pytest.param("hostname; echo $HOSTNAME", "p\np\n", id="its name"),
    ],
)  # fmt: skip
def test_what_a_script_prints(text: str, printed: str) -> None:
    assert log(script(text)) == printed


def test_a_loop_prints_as_time_passes() -> None:
    reading = script('i=0; while true; do echo "$i: $(date +%T)"; i=$((i+1)); sleep 1; done', until=2.5)
    assert [(one.at, one.text) for one in reading.printed] == [
        (0, "0: 00:00:00\n"), (1, "1: 00:00:01\n"), (2, "2: 00:00:02\n"),
    ]  # fmt: skip


ENV = [
    {"name": "LITERAL", "value": "one"},
    {"name": "BOTH", "value": "$(LITERAL)-$$(LITERAL)-$(NONE)"},
    {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
    {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}}},
    {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
]
RESOURCES = {"limits": {"cpu": "1250m"}, "requests": {"memory": "32Mi"}}


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        pytest.param("$(LITERAL)", "one", id="literal"),
        pytest.param("$BOTH", "one-$(LITERAL)-$(NONE)", id="made of others"),
        pytest.param("$NAME.$APP", "p.web", id="of the pod"),
        pytest.param("$IP", "10.0.0.7", id="its address"),
        pytest.param("$CPU $MEMORY", "2 32", id="its resources"),
    ],
)
def test_variables_have_the_values_the_pod_says(word: str, shown: str) -> None:
    assert log(script(f"echo {word}", env=ENV, resources=RESOURCES)) == f"{shown}\n"


def test_nothing_is_decided_by_what_is_not_known() -> None:
    assert script('[ "$SECRET" = x ]', env=ENV).end is ContainerEnd.UNKNOWN
    assert script("exit $SECRET", env=ENV).end is ContainerEnd.UNKNOWN
    shown = script("for one in $SECRET; do sleep 1; done", env=ENV)
    assert (shown.end, shown.seconds) == (ContainerEnd.UNKNOWN, 0)
    printed = script("echo $SECRET; sleep 1", env=ENV)
    assert (printed.end, printed.seconds, printed.printed) == (ContainerEnd.EXITS, 1, ())


def test_env_prints_the_values_of_objects_that_are_known() -> None:
    data = {
        "Secret": {"kind": "Secret", "data": {"k": "aGlkZGVu"}},
        "ConfigMap": {"kind": "ConfigMap", "data": {"a": "b"}},
    }
    container = {"name": "main", "image": "busybox", "command": ["env"], "env": ENV, "resources": RESOURCES,
                 "envFrom": [{"prefix": "x_", "configMapRef": {"name": "c"}}]}  # fmt: skip
    start = ContainerStart(0, BEGAN, lambda kind, namespace, name: data.get(kind))
    assert {"SECRET=hidden", "x_a=b", "LITERAL=one"} <= set(
        log(interpret(pod_of(container), container, start)).splitlines()
    )


def test_env_ends_even_if_not_every_value_is_known() -> None:
    reading = said("env", envFrom=[{"secretRef": {"name": "s"}}])
    assert (reading.end, reading.code) == (ContainerEnd.EXITS, 0)


@pytest.mark.parametrize(
    ("container", "end"),
    [
        pytest.param({"args": ["sleep", "5"]}, ContainerEnd.EXITS, id="a program"),
        pytest.param({"args": ["--config=x"]}, ContainerEnd.UNKNOWN, id="options of an unknown entrypoint"),
        pytest.param(
            {"args": ["netexec", "--port=80"], "image": "k8s.gcr.io/e2e/agnhost:2.53"}, ContainerEnd.RUNS, id="agnhost"
        ),
        pytest.param({"args": ["pause"]}, ContainerEnd.RUNS, id="pause"),
        pytest.param({"image": "registry.k8s.io/pause:3.10"}, ContainerEnd.RUNS, id="the image that does nothing"),
        pytest.param({}, ContainerEnd.UNKNOWN, id="nothing"),
        pytest.param({"command": ["exit", "1"]}, ContainerEnd.UNKNOWN, id="no program of that name"),
        pytest.param({"command": ["cat"], "stdin": True}, ContainerEnd.UNKNOWN, id="an input nobody knows"),
    ],
)
def test_arguments_alone_are_a_command_if_they_begin_with_a_program(
    container: dict[str, Any], end: ContainerEnd
) -> None:
    whole = {"name": "main", "image": "busybox", **container}
    assert interpret(pod_of(whole), whole, ContainerStart()).end is end


def test_a_container_that_starts_again_finds_its_files() -> None:
    text = "if [[ -r /data/foo ]] ; then exit 0 ; else touch /data/foo ; exit 1 ; fi"
    mounted = {"volumeMounts": [{"name": "data", "mountPath": "/data"}], "volumes": [{"name": "data", "emptyDir": {}}]}
    assert [script(text, run=run, **mounted).code for run in (0, 1, 2)] == [1, 0, 0]


def test_the_image_that_tests_kubernetes_says_that_it_pauses() -> None:
    container = {"name": "main", "image": "registry.k8s.io/e2e-test-images/agnhost:2.59"}
    assert log(interpret(pod_of(container), container, ContainerStart())) == "Paused\nSignals registered\n"


def test_chance_is_always_the_same() -> None:
    codes = [script("exit $(( $RANDOM / 16384 ))", run=run).code for run in range(20)]
    assert codes == [script("exit $(( $RANDOM / 16384 ))", run=run).code for run in range(20)]
    assert set(codes) == {0, 1}


def test_the_last_word_is_read() -> None:
    assert script("echo -n DONE > /dev/termination-log").message == "DONE"
    policy = "FallbackToLogsOnError"
    assert script("echo oh; false", terminationMessagePolicy=policy).message == "oh\n"
    assert script("echo oh", terminationMessagePolicy=policy).message == ""
