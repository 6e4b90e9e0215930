"""`tar`, as `kubectl cp` calls it."""

import io
import tarfile

import pytest

from mockkube.shell.containers.processes import Process, ProcessState
from mockkube.shell.machine.file_system import FileSystem
from mockkube.shell.machine.machine import ContainerEnvironment


def run(*words, files=None, sent=b""):
    environment = ContainerEnvironment({"PATH": "/bin"}, has_unknown_variables=False)
    process = Process(words, environment, files or FileSystem())
    process.input.add(0.0, sent.decode(errors="surrogateescape"))
    process.input.close(0.0)
    return process.run(10.0)


def output(result) -> bytes:
    return "".join(one.text for one in result.printed if one.descriptor == 1).encode(errors="surrogateescape")


def make_archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def test_files_are_archived():
    files = FileSystem()
    files.make_directory("/tmp/dir")
    files.write("/tmp/one", "1\n")
    files.write("/tmp/dir/two", "2\n")
    result = run("tar", "cf", "-", "/tmp", files=files)
    with tarfile.open(fileobj=io.BytesIO(output(result))) as archive:
        contents = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    assert contents == {"tmp/one": b"1\n", "tmp/dir/two": b"2\n"}


def test_bytes_that_are_no_text_survive():
    data = bytes(range(256))
    written = run("tar", "-xmf", "-", "-C", "/tmp", sent=make_archive({"x": data}))
    assert {one.path: one.file.text.encode(errors="surrogateescape") for one in written.writes} == {"/tmp/x": data}


def test_options_of_kubectl_are_accepted():
    words = ("tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-", "-C", "/tmp")
    result = run(*words, sent=make_archive({"dir/a": b"1"}))
    assert [(one.path, one.file.is_directory) for one in result.writes] == [("/tmp/dir", True), ("/tmp/dir/a", False)]


def test_a_missing_file_is_an_error():
    result = run("tar", "cf", "-", "/tmp/missing")
    assert result.code == 2
    assert "No such file or directory" in "".join(one.text for one in result.printed)


@pytest.mark.parametrize("sent", [b"no archive at all", b"x" * 2000])
def test_what_is_no_archive_is_refused(sent):
    assert run("tar", "xf", "-", "-C", "/tmp", sent=sent).code == 1


def test_names_that_leave_the_directory_are_refused():
    result = run("tar", "xf", "-", "-C", "/tmp", sent=make_archive({"../x": b"1"}))
    assert (result.code, result.writes) == (1, ())


@pytest.mark.parametrize("words", [("xzf", "-"), ("cf", "/tmp/x.tar", "/tmp"), ("tf", "-"), ("xf", "-", "--wildcards")])
def test_other_options_are_not_simulated(words):
    assert run("tar", *words).state is ProcessState.UNSUPPORTED


def test_large_files_are_not_simulated():
    sent = make_archive({"x": bytes(100_000)})
    assert run("tar", "xf", "-", "-C", "/tmp", sent=sent).state is ProcessState.UNSUPPORTED
