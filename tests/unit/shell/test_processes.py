"""Commands that run beside that of a container."""

import pytest

from mockkube.shell.container_states import BYTES_MAX, CONTAINERS_MAX, ContainerStates
from mockkube.shell.interactive import PROMPT, is_complete
from mockkube.shell.machine import ContainerEnvironment
from mockkube.shell.processes import Process, ProcessState, is_executable
from mockkube.shell.standard_input import INPUT_MAX, StandardInput

VARIABLES = {"PATH": "/bin", "NAME": "value"}


def make_process(*words, files=None, tty=False, closed=True) -> Process:
    environment = ContainerEnvironment(VARIABLES, has_unknown_variables=False, hostname="p", tty=tty)
    process = Process(words, environment, files or {})
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
    assert (result.files["/tmp/x"], result.seconds) == ("one\n", 2.0)


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


def test_input_is_bounded():
    source = StandardInput()
    assert source.add(0.0, "x" * INPUT_MAX)
    assert not source.add(0.0, "x")


def test_input_in_too_many_pieces_is_not_simulated():
    process = make_process("cat", closed=False)
    for _ in range(30_000):
        process.input.add(1.0, "x")
    assert process.run(10.0).state is ProcessState.UNSUPPORTED


def test_changed_files_are_kept_for_one_run_of_a_container():
    states = ContainerStates()
    states.record_changes("uid", "c", 0, before={"/a": "1", "/b": "1"}, after={"/b": "2", "/c": "3"})
    states.record_changes("uid", "c", 0, before={"/b": "2", "/c": "3"}, after={"/b": "2", "/c": "4"})
    assert states.apply_changes("uid", "c", 0, {"/a": "1", "/b": "1"}) == {"/b": "2", "/c": "4"}
    assert states.apply_changes("uid", "c", 1, {"/a": "1"}) == {"/a": "1"}
    assert states.apply_changes("uid", "other", 0, {"/a": "1"}) == {"/a": "1"}


def test_changed_files_are_bounded():
    states = ContainerStates()
    states.record_changes("uid", "c", 0, before={}, after={"/a": "x" * BYTES_MAX})
    assert states.apply_changes("uid", "c", 0, {}) == {}
    for number in range(CONTAINERS_MAX + 1):
        states.record_changes(f"uid-{number}", "c", 0, before={}, after={"/a": "1"})
    assert states.apply_changes("uid-0", "c", 0, {}) == {}
    assert states.apply_changes(f"uid-{CONTAINERS_MAX}", "c", 0, {}) == {"/a": "1"}
