"""Opening a store by URL."""

import subprocess
import sys

import pytest
from mockkube_storage.engines.catalogue import ENGINES, open_store
from mockkube_storage.errors import UnknownEngine


@pytest.mark.parametrize("url", ["", "mysql://host/db", "memroy:", "sqlite://", "sqlite:store.db"])
def test_an_unknown_url_names_those_that_are_known(url: str) -> None:
    with pytest.raises(UnknownEngine) as caught:
        open_store(url)
    for engine in ENGINES:
        assert engine.example in str(caught.value)


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        pytest.param("memory:", "MemoryStore", id="memory"),
        pytest.param("sqlite:///store.db", "SqliteStore", id="a URL of SQLite"),
        pytest.param("store.db", "SqliteStore", id="a relative path"),
        pytest.param("/var/lib/store", "SqliteStore", id="an absolute path"),
        pytest.param("C:\\store.db", "SqliteStore", id="a path with a drive"),
        pytest.param("postgresql://user@host/database", "PostgresqlStore", id="PostgreSQL"),
        pytest.param("postgres://user@host/database", "PostgresqlStore", id="PostgreSQL by its short name"),
    ],
)
def test_a_url_opens_its_engine(url: str, opened: str) -> None:
    assert type(open_store(url)).__name__ == opened


def test_a_malformed_url_is_refused_without_telling_its_password() -> None:
    with pytest.raises(UnknownEngine, match="user:") as caught:
        open_store("postgresql://user:secret@host:port/x")
    assert "secret" not in str(caught.value)


def test_every_engine_opens_its_example() -> None:
    for engine in ENGINES:
        assert type(open_store(engine.example)) is type(engine.open(engine.example))


def test_memory_does_not_pay_for_sql() -> None:
    program = (
        "import sys; from mockkube_storage.engines.catalogue import open_store;"
        "open_store('memory:'); print('sqlalchemy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
