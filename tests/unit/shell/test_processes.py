"""Commands that run beside that of a container."""

from datetime import UTC, datetime, timedelta

import pytest

from mockkube.shell.containers.container_states import PLACES_MAX, SIZE_MAX, ContainerStates
from mockkube.shell.containers.processes import Process, ProcessState, is_executable
from mockkube.shell.machine.file_system import File, FileSystem, FileWrite
from mockkube.shell.machine.machine import ContainerEnvironment
from mockkube.shell.machine.standard_input import INPUT_MAX, StandardInput
from mockkube.shell.scripts.interactive import PROMPT, is_complete

VARIABLES = {"PATH": "/bin", "NAME": "value"}


def make_process(*words, files=None, tty=False, closed=True) -> Process:
    environment = ContainerEnvironment(VARIABLES, has_unknown_variables=False, hostname="p", tty=tty)
    process = Process(words, environment, FileSystem(root={path: File(text) for path, text in (files or {}).items()}))
    if closed:
        process.input.close(0.0)
    return process


def output(result, descriptor=1) -> str:
    return "".join(one.text for one in result.printed if one.descriptor == descriptor)


@pytest.mark.parametrize(
    ("words", "code", "printed", "errors"),
    [
        (("echo", "a", "b"), 0, "a b\n", ""),
        (("false",), 1, "", ""),
        (("sh", "-c", "echo out; echo err >&2; exit 3"), 3, "out\n", "err\n"),
        (("sh", "-c", 'echo "$NAME"'), 0, "value\n", ""),
        (("hostname",), 0, "p\n", ""),
        (("cat", "/tmp/known"), 0, "text\n", ""),
        (("cat", "/tmp/missing"), 1, "", "cat: can't open '/tmp/missing': No such file or directory\n"),
        (
            ("sh", "-c", "curl http://x; echo $?"),
            0,
            "127\n",
            "sh: curl: not found (mockkube does not simulate this program)\n",
        ),
        (("sh",), 0, "", ""),
    ],
)
def test_a_command_has_output_errors_and_a_code(words, code, printed, errors):
    result = make_process(*words, files={"/tmp/known": "text\n"}).run(10.0)
    assert (result.state, result.code) == (ProcessState.EXITED, code)
    assert (output(result), output(result, 2)) == (printed, errors)


def test_a_command_takes_its_time():
    process = make_process("sh", "-c", "echo a; sleep 5; echo b; sleep 5")
    assert [(one.at, one.text) for one in process.run(7.0).printed] == [(0.0, "a\n"), (5.0, "b\n")]
    assert process.run(7.0).is_running
    assert process.run(20.0).seconds == 10.0


def test_input_is_read_as_it_arrives():
    process = make_process("cat", closed=False)
    assert process.run(10.0).state is ProcessState.WAITING
    process.input.add(1.0, "one\n")
    process.input.add(2.0, "two")
    assert [(one.at, one.text) for one in process.run(10.0).printed] == [(1.0, "one\n"), (2.0, "two")]
    process.input.close(3.0)
    result = process.run(10.0)
    assert (result.state, result.seconds) == (ProcessState.EXITED, 3.0)


def test_some_commands_need_all_of_their_input():
    process = make_process("tee", "/tmp/x", closed=False)
    process.input.add(1.0, "one\n")
    assert process.run(10.0).needs_end
    process.input.close(2.0)
    result = process.run(10.0)
    assert (result.writes[-1], result.seconds) == (FileWrite(2.0, "", "/tmp/x", File("one\n")), 2.0)


def test_a_shell_runs_each_command_of_its_input_at_once():
    process = make_process("sh", closed=False)
    process.input.add(1.0, "for i in 1 2\ndo\n")
    assert output(process.run(10.0)) == ""
    process.input.add(2.0, "echo $i\ndone\nX=5\n")
    assert output(process.run(10.0)) == "1\n2\n"
    process.input.add(3.0, "exit $X\n")
    result = process.run(10.0)
    assert (result.state, result.code) == (ProcessState.EXITED, 5)


def test_at_a_terminal_a_shell_survives_what_is_not_simulated():
    process = make_process("sh", tty=True, closed=False)
    process.input.add(1.0, "cat /etc/passwd\necho $?\nexit\n")
    printed = "".join(one.text for one in process.run(10.0).printed)
    assert printed == f"{PROMPT}mockkube: not simulated: cat /etc/passwd\n{PROMPT}126\n{PROMPT}"


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("echo a\n", True),
        ("", True),
        ("if true\n", False),
        ("if true; then\n", False),
        ("while true; do if true; then echo\n", False),
        ("echo 'a\n", False),
        ("echo a |\n", False),
        ("echo a \\\n", False),
        ("case x in\n", False),
        ("done\n", True),
    ],
)
def test_a_command_may_go_on_in_the_next_line(text, complete):
    assert is_complete(text) is complete


def test_the_command_that_is_not_simulated_is_named():
    result = make_process("sh", "-c", "echo a; cat /etc/shadow; echo b").run(10.0)
    assert (result.state, result.unsupported) == (ProcessState.UNSUPPORTED, "cat /etc/shadow")
    assert output(result) == "a\n"


def test_only_known_programs_can_be_started():
    assert is_executable("/bin/sh")
    assert not is_executable("export")
    assert not is_executable("curl")


def test_bytes_that_are_no_text_pass_through():
    data = bytes(range(256)) * 3
    process = make_process("cat", closed=False)
    process.input.add(0.0, data.decode(errors="surrogateescape"))
    process.input.close(0.0)
    assert output(process.run(1.0)).encode(errors="surrogateescape") == data


def test_input_is_bounded():
    source = StandardInput()
    assert source.add(0.0, "x" * INPUT_MAX)
    assert not source.add(0.0, "x")


def test_input_in_too_many_pieces_is_not_simulated():
    process = make_process("cat", closed=False)
    for _ in range(30_000):
        process.input.add(1.0, "x")
    assert process.run(10.0).state is ProcessState.UNSUPPORTED


STARTED = datetime(2030, 1, 1, tzinfo=UTC)


def pod_of(uid="uid"):
    volumes = [{"name": "shared", "emptyDir": {}}, {"name": "host", "hostPath": {"path": "/data"}}]
    return {"metadata": {"uid": uid}, "spec": {"nodeName": "n1", "volumes": volumes}}


CONTAINER = {"name": "c", "volumeMounts": [{"name": "shared"}, {"name": "host"}]}


def test_changes_to_its_own_files_are_kept_for_one_run_of_a_container():
    states, write = ContainerStates(), FileWrite(2.0, "", "/tmp/a", File("1"))
    states.record(pod_of(), "c", 0, STARTED, [write])
    assert states.find_writes(pod_of(), CONTAINER, 0, STARTED) == [write]
    # Seen from a start one second later, the write is one second earlier.
    later = states.find_writes(pod_of(), CONTAINER, 0, STARTED + timedelta(seconds=1))
    assert [one.at for one in later] == [1.0]
    assert states.find_writes(pod_of(), CONTAINER, 1, STARTED) == []
    assert states.find_writes(pod_of(), {**CONTAINER, "name": "other"}, 0, STARTED) == []


def test_changes_to_volumes_are_seen_by_every_container_that_mounts_them():
    states, write = ContainerStates(), FileWrite(2.0, "shared", "a", File("1"))
    states.record(pod_of(), "c", 0, STARTED, [write])
    assert states.find_writes(pod_of(), {**CONTAINER, "name": "other"}, 3, STARTED) == [write]
    assert states.find_writes(pod_of(), {"name": "bare"}, 0, STARTED) == []
    assert states.find_writes(pod_of("another"), CONTAINER, 0, STARTED) == []


def test_changes_to_a_directory_of_the_node_are_seen_by_all_its_pods():
    states, write = ContainerStates(), FileWrite(2.0, "host", "a", File("1"))
    states.record(pod_of(), "c", 0, STARTED, [write], writer="uid/c/0")
    assert states.find_writes(pod_of("another"), CONTAINER, 0, STARTED) == [write]
    # A run does not find what its own command will write.
    assert states.find_writes(pod_of(), CONTAINER, 0, STARTED) == []
    elsewhere = {**pod_of("another"), "spec": {**pod_of()["spec"], "nodeName": "n2"}}
    assert states.find_writes(elsewhere, CONTAINER, 0, STARTED) == []


def test_changed_files_are_bounded():
    states = ContainerStates()
    states.record(pod_of(), "c", 0, STARTED, [FileWrite(0.0, "", "/a", File("x" * SIZE_MAX))])
    assert states.find_writes(pod_of(), CONTAINER, 0, STARTED) == []
    for number in range(PLACES_MAX + 1):
        states.record(pod_of(f"uid-{number}"), "c", 0, STARTED, [FileWrite(0.0, "", "/a", File("1"))])
    assert states.find_writes(pod_of("uid-0"), CONTAINER, 0, STARTED) == []
    assert len(states.find_writes(pod_of(f"uid-{PLACES_MAX}"), CONTAINER, 0, STARTED)) == 1
