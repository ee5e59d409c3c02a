"""Pipeline settings from dataflow.toml and the environment: connections and Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.errors import ConfigError
from dataflow.pipelines.declare.settings import PipelineSettings


def read(folder: Path, text: str = "", **environ: str) -> PipelineSettings:
    (folder / "dataflow.toml").write_text(text)
    return PipelineSettings(str(folder), environ, lambda: "")


@pytest.mark.parametrize("variable", ["DATAFLOW_CONN_DATASETS_DB", "AIRFLOW_CONN_DATASETS_DB"])
def test_a_connection_is_read_from_its_variable(tmp_path: Path, variable: str) -> None:
    url = "postgresql+psycopg2://etl:p%40ss@db:5433/datasets?sslmode=require"
    found = read(tmp_path, **{variable: url}).get_connection("datasets_db")
    assert found.url == "postgresql://etl@db:5433/datasets?sslmode=require"
    assert found.password == "p@ss"
    assert "p@ss" not in repr(found)


def test_our_variable_takes_precedence_over_airflows_and_both_over_the_file(tmp_path: Path) -> None:
    text = '[connection.db]\nurl = "postgresql://file/x"\n'
    both = {"DATAFLOW_CONN_DB": "postgresql://ours/x", "AIRFLOW_CONN_DB": "postgresql://airflow/x"}
    assert read(tmp_path, text, **both).get_connection("db").url == "postgresql://ours/x"
    del both["DATAFLOW_CONN_DB"]
    assert read(tmp_path, text, **both).get_connection("db").url == "postgresql://airflow/x"
    assert read(tmp_path, text).get_connection("db").url == "postgresql://file/x"


def test_the_file_may_name_a_variable_that_holds_the_password(tmp_path: Path) -> None:
    text = '[connection.db]\nurl = "postgresql://etl@db/x"\npassword_variable = "DB_PASSWORD"\n'
    assert read(tmp_path, text, DB_PASSWORD="hunter2").get_connection("db").password == "hunter2"
    assert read(tmp_path, text).get_place("db").password is None
    with pytest.raises(ConfigError, match="DB_PASSWORD, which is not set"):
        read(tmp_path, text).get_connection("db")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[connection.db]\nurl = "postgresql://etl:hunter2@db/x"', "dataflow secret encrypt --connection db"),
        ('[connection.db]\nurl = "mysql://db/x"', "a connection is postgresql://"),
        ('[connection.db]\nuser = "etl"', "has no url"),
        ('[connection.db]\nurl = "lake:x"\nencryptedpas = "x"', "encryptedpass"),
        (
            '[connection.db]\nurl = "lake:s3://bucket/x"',
            "connection.db.url is not valid: a lake is a folder",
        ),
        ('[connection.db]\nurl = "lake://hdfs:/x"', "written as its path: lake:/srv/lake"),
        ('[connection.db]\nurl = "lake:"', "a lake is a folder"),
        ('connection = "db"', "must be a set of tables"),
        ('[spark]\nmastr = "local"', "master"),
        ('[spark]\nmaster = "local"\nremote = "sc://x"', "both master and remote"),
        ('[spark]\nremote = "sc://x/;token=hunter2"', 'remote_variable = "SPARK_ADDRESS"'),
        ('[connection.db]\nurl = "postgresql://db/x?user=etl&password=hunter2"', "dataflow secret encrypt"),
        ('[connection.db]\nurl = "postgresql://db/x?sslpassword=hunter2"', "dataflow secret encrypt"),
        ('[connection.db]\nurl = "postgresql://etl:hunt/hunter2@db/x"', "%2F for a slash"),
        ('[connection.db]\nurl = \'{"password": "hunter2"}\'', "a connection is postgresql://"),
        ("", 'Unknown connection "db"'),
    ],
)
def test_invalid_settings_are_reported_without_secrets(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text).get_connection("db")
    assert told in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_password_in_the_parameters_of_a_url_is_kept_apart(tmp_path: Path) -> None:
    url = "postgresql://db/x?user=etl&pass%77ord=p%40ss&sslmode=require"
    found = read(tmp_path, DATAFLOW_CONN_DB=url).get_place("db")
    assert found.url == "postgresql://db/x?user=etl&sslmode=require"
    assert found.password == "p@ss"


def test_the_address_of_spark_may_be_in_a_variable_and_is_shown_without_its_token(tmp_path: Path) -> None:
    text = '[spark]\nremote_variable = "SPARK_ADDRESS"\n'
    settings = read(tmp_path, text, SPARK_ADDRESS="sc://spark:15002/;use_ssl=true;token=hunter%202")
    assert settings.spark.remote == "sc://spark:15002/;use_ssl=true;token=hunter%202"
    assert settings.spark.place == "sc://spark:15002"
    with pytest.raises(ConfigError) as caught:
        settings.spark.refuse_unshared()
    assert "hunter" not in f"{caught.value} {settings.spark}"
    assert settings.secrets.redact_text("use_ssl=true, hunter 2") == "use_ssl=true, ***"
    with pytest.raises(ConfigError, match="SPARK_ADDRESS, which is not set"):
        assert read(tmp_path, text).spark


def test_the_lake_needs_no_declaration_and_can_be_moved(tmp_path: Path) -> None:
    assert read(tmp_path).get_connection("lake").folder == "lake"
    assert (
        read(tmp_path, '[connection.lake]\nurl = "lake:/srv/lake"').get_connection("lake").folder
        == "/srv/lake"
    )
