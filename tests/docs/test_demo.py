"""The demo does what it says, and what it leaves behind can be played with."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.docs.pages import ROOT
from tests.project import Project

FOREIGN = {
    "DATAFLOW_STORE": "postgresql://nobody@db.example:1/none",
    "DATAFLOW_NONSENSE": "1",
    "AIRFLOW_CONN_DATASETS_DB": "postgresql://nobody@db.example:1/none",
    "HAWK_ALGORITHM": "none",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """The demo, run once, in a shell that is set up for another store: its project and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "home").mkdir()
    project = Project(folder / "demo-project", folder / "home")
    return project, run_demo(project, 0)


def run_demo(project: Project, exit_code: int, env: dict[str, str] | None = None) -> str:
    """What the demo prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py"), str(project.path)],
        env=os.environ | FOREIGN | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == exit_code, done.stdout
    return done.stdout


def check_page(project: Project) -> None:
    """`dataflow up` serves the page of what the demo left."""
    env = {"DATAFLOW_LISTEN": "127.0.0.1:0", "JAVA_HOME": str(project.path / "nowhere")}
    process = project.start("dataflow", "up", env=env, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        said = next(line for line in process.stderr if line.startswith("Page: "))
        with httpx.Client(follow_redirects=True, timeout=60) as client:
            assert "INVALID" in client.get(said.split()[1]).text
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.full
def test_no_chunk_is_skipped_and_none_is_done_twice(demo: tuple[Project, str]) -> None:
    assert "\n100 chunks, 0 skipped, 0 twice\n" in demo[1]


@pytest.mark.full
def test_it_shows_the_kill_a_blocked_chunk_and_an_invalid_one(demo: tuple[Project, str]) -> None:
    assert re.search(r"\$ kill -9 \d+\n", demo[1])
    assert re.search(r"\$ dataflow why load 100\n.*?ready    no .*?next: RunJob", demo[1], flags=re.DOTALL)
    assert re.search(
        r"INVALID.*still there, whole:\n   \$ cat \S+\n   42-1,42,run \d+", demo[1], flags=re.DOTALL
    )


@pytest.mark.full
def test_the_runs_of_the_killed_process_are_lost_and_made_up_for(demo: tuple[Project, str]) -> None:
    project, _ = demo
    lost = project.json("dataflow", "runs", "--job", "extract", "--outcome", "LOST")
    assert 1 <= len(lost) <= 2
    for run in lost:
        runs = project.json("dataflow", "runs", "--job", run["job"], "--dataid", run["dataid"])
        assert [other["outcome"] for other in runs] == ["DONE", "LOST"]


@pytest.mark.full
def test_what_it_offers_to_try_works(demo: tuple[Project, str]) -> None:
    project, output = demo
    offered = re.findall(
        r"^   ((?:dataflow|RunJob) .*?)  ", output.partition("is left for you to edit")[2], flags=re.MULTILINE
    )
    assert len(offered) == 7
    for command in offered:
        project.run(*command.split())
    loaded, extracted = (
        {chunk["dataid"]: chunk for chunk in project.json("dataflow", "chunks", name)}
        for name in ("loaded", "extracted")
    )
    assert (loaded["42"]["status"], loaded["42"]["version"]) == ("READY", 2)
    assert extracted["7"]["status"] == "STALE"


@pytest.mark.full
def test_pipelines_go_on_after_an_outage_and_what_they_publish_is_proven(demo: tuple[Project, str]) -> None:
    output = demo[1]
    assert "continues after page 60, which an earlier run fetched" in output
    assert "The API answered 120 pages in all, each of its 120 once." in output
    assert "\n60,000 orders served, 60,000 published, 0 twice\n12 months, 0 with a wrong sum\n" in output
    outcomes = [run["outcome"] for run in demo[0].json("dataflow", "runs", "--job", "OMISDatasetPipeline")]
    assert outcomes == ["DONE", "LOST"]


@pytest.mark.full
def test_its_output_is_short_and_without_the_talk_of_spark(demo: tuple[Project, str]) -> None:
    lines = demo[1].splitlines()
    assert len(lines) < 170, demo[1]
    assert not [line for line in lines if re.search(r"WARN|INFO|Exception|Traceback|log4j|jvm", line)]


def test_without_java_it_passes_and_says_in_a_sentence_what_it_skipped_and_what_to_install(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path / "demo-project", tmp_path)
    output = run_demo(project, 0, {"JAVA_HOME": str(tmp_path / "nowhere")})
    assert "\n100 chunks, 0 skipped, 0 twice\n" in output
    accepted = re.findall(r"the store had accepted (\d+)\.$|extract: (\d+) chunks done", output, re.MULTILINE)
    assert sum(int(before or after) for before, after in accepted) == 100
    assert re.search(
        r"^Skipped: pipelines on Spark. No Java found .*apt-get install openjdk-17", output, re.MULTILINE
    )
    assert "dataflow pipeline list" not in output
    assert "dataflow up, and open the URL that it prints.\n" in output
    check_page(project)


def test_it_does_not_delete_a_folder_that_it_did_not_make(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path)
    (tmp_path / "precious.txt").write_text("keep me")
    assert "is not a folder that this demo made" in run_demo(project, 1)
    assert (tmp_path / "precious.txt").read_text() == "keep me"
