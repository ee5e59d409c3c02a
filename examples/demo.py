"""A hundred chunks through two jobs, a kill -9 in the middle, and nothing lost: `make demo`.

It recreates the folder demo-project, runs the real commands there and counts what the scripts themselves
recorded. With Java it continues with pipelines (demo_pipelines.py). The folder stays for you to explore. Any
wrong number ends the demo with exit code 1.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from demo_pipelines import find_missing, run_pipelines
from demo_project import ROOT, Demo, expect, fail, show

FILES = ROOT / "examples" / "demo"
CHUNKS = 100
KILL_AFTER = 25
SPOILT = "42"


def main() -> int:
    """Run the whole demo; every step says what it shows."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "demo-project")
    print(
        "DataFlow demo: a hundred chunks through two jobs, a kill -9, nothing lost; then pipelines on Spark."
    )
    demo = Demo(folder)
    make_project(demo)
    make_ready(demo)
    run_and_kill(demo)
    ask_why(demo)
    run_again(demo)
    spoil_one(demo)
    count(demo)
    missing = find_missing()
    if missing:
        print(f"\nSkipped: pipelines on Spark. {missing} Then: make demo")
    else:
        run_pipelines(demo)
    say_goodbye(demo, has_pipelines=not missing)
    return 0


def make_project(demo: Demo) -> None:
    """Create a project with scripts and raw files, and apply its declarations."""
    demo.step(
        "A project: scripts and dataflow.toml, which declares orders → extract → extracted → load → loaded."
    )
    if demo.folder.exists() and not (demo.folder / "load-broken.sh").exists():
        fail(f"{demo.folder} is not a folder that this demo made. Move it, or name another folder.")
    shutil.rmtree(demo.folder, ignore_errors=True)
    shutil.copytree(FILES, demo.folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "examples" / "orders_api.py", demo.folder)
    (demo.folder / "raw").mkdir()
    for number in range(1, CHUNKS + 1):
        rows = "".join(f"{number}-{row},{row * number}\n" for row in range(1, 6))
        (demo.folder / "raw" / f"{number}.csv").write_text(f"order,amount\n{rows}")
    print(f"   $ cd {demo.folder.name}")
    show(demo.run("dataflow apply dataflow.toml --yes"), 20)


def make_ready(demo: Demo) -> None:
    """Mark the raw files ready, which creates the work."""
    demo.step(f"{CHUNKS} raw files have arrived. Marking them ready creates the work; nothing is scheduled.")
    show(demo.run(f"dataflow ready orders --from 1 --to {CHUNKS}"))


def run_and_kill(demo: Demo) -> None:
    """Run the first job in two streams and kill it in the middle."""
    demo.step("The first job runs in two streams and is killed with -9 in the middle.")
    print("   $ RunJob --drain -j 2 --quiet ./extract.sh &")
    process = demo.start("RunJob --drain -j 2 --quiet ./extract.sh", stdin=subprocess.DEVNULL)
    while len(demo.list_recorded()) < KILL_AFTER:
        if process.poll() is not None:
            fail(f"RunJob ended by itself with {process.returncode}")
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    code = process.wait()
    print(f"   $ kill -9 {process.pid}")
    expect(code == -signal.SIGKILL, f"RunJob should end by SIGKILL, and ended with {code}")
    done = len({dataid for _, dataid, _ in demo.list_recorded()})
    expect(KILL_AFTER <= done < CHUNKS, f"RunJob should be killed in the middle, not after {done} chunks")
    accepted = len(demo.ask("dataflow runs --job extract --outcome done --limit 1000"))
    print("   RunJob is dead, and so are its scripts.")
    print(f"   They had ended for {done} chunks, of which the store had accepted {accepted}.")


def ask_why(demo: Demo) -> None:
    """Show why the last chunk of the second job is blocked, and the next command."""
    demo.step(f"The second job waits for the missing chunks. Why is its chunk {CHUNKS} not done?")
    show(demo.run(f"dataflow why load {CHUNKS}"), 12)
    found = demo.ask(f"dataflow why load {CHUNKS}")
    answers = {answer["question"]: answer["answer"] for answer in found["answers"]}
    expect(answers["ready"] == "no", f"chunk {CHUNKS} should be blocked: {found}")
    expect("extract.sh" in found["next"], f"the next command should be extract.sh: {found['next']}")


def run_again(demo: Demo) -> None:
    """Run the same command again, then the second job."""
    demo.step("The same command again. It continues by itself: no clean-up, no flag, nothing to remember.")
    show(demo.run("RunJob --drain -j 2 ./extract.sh"), 1)
    lost = demo.ask("dataflow runs --outcome lost --limit 1000")
    runs = " and ".join(str(run["run_id"]) for run in sorted(lost, key=lambda run: int(run["run_id"])))
    expect(len(lost) > 0, "the killed RunJob should leave at least one lost run")
    print(f"   Lost with the killed RunJob: run {runs}. New runs did their chunks.")
    demo.step("The second job reads what the first has published.")
    show(demo.run("RunJob --drain -j 2 ./load.sh"), 1)


def spoil_one(demo: Demo) -> None:
    """Show that a bad result is not published: the old version is unchanged."""
    demo.step(
        f"Chunk {SPOILT} is loaded again by a script that loses rows, and the check in dataflow.toml fails."
    )
    query = (
        "select s.status, s.version, s.location from chunk_status s "
        "join dataset d on d.dataset_id = s.dataset_id "
        f"where d.name = 'loaded' and s.dataid = '{SPOILT}'"
    )
    before = demo.ask(f'dataflow sql "{query}"')[0]
    content = (demo.folder / before["location"]).read_text()
    show(demo.run(f"dataflow resubmit load {SPOILT}"))
    show(demo.run("RunJob --quiet --job load ./load-broken.sh", exit_code=1), 5)
    show(demo.run(f"dataflow chunks loaded --from {SPOILT} --to {SPOILT}"))
    after = demo.ask(f'dataflow sql "{query}"')[0]
    expect((before["status"], after["status"]) == ("READY", "INVALID"), f"{before} became {after}")
    expect(before["location"] == after["location"], f"its location changed: {before} became {after}")
    expect(before["version"] == after["version"] == 1, f"version 1 should stay: {before} became {after}")
    expect((demo.folder / after["location"]).read_text() == content, "the published content changed")
    expect(len(content.splitlines()) == 5, f"the published content should have 5 rows: {content}")
    print("   The chunk is INVALID, and the published version is still there, whole:")
    show(demo.run(f"cat {after['location']}"), 5)


def count(demo: Demo) -> None:
    """Count the lines that the scripts of accepted runs wrote."""
    demo.step("The count, from what the scripts themselves recorded.")
    recorded = demo.list_recorded()
    accepted = {run["run_id"]: run for run in demo.ask("dataflow runs --outcome done --limit 1000")}
    ends = Counter((job, dataid) for job, dataid, run_id in recorded if run_id in accepted)
    others = len(recorded) - ends.total()
    print("   At its end each script adds its job, dataid and run id to ledger.txt. Of these lines,")
    print(
        f"   {ends.total()} belong to runs that were accepted and {others} to runs that were not: the INVALID"
    )
    print("   one, and any that ended just when its RunJob was killed. Those published nothing.")
    dataids = [str(number) for number in range(1, CHUNKS + 1)]
    per_chunk = [(ends["extract", dataid], ends["load", dataid]) for dataid in dataids]
    skipped = sum(min(pair) == 0 for pair in per_chunk)
    twice = sum(max(pair) > 1 for pair in per_chunk)
    versions = [chunk["version"] for chunk in demo.ask("dataflow chunks loaded")]
    print(f"\n{len(versions)} chunks, {skipped} skipped, {twice} twice")
    expect(versions == [1] * CHUNKS, f"each of {CHUNKS} chunks should be published once: {versions}")
    expect(not skipped and not twice, "no chunk may be skipped or done twice")
    expect(ends.total() == 2 * CHUNKS == len(accepted), f"{ends.total()} ends, {len(accepted)} accepted runs")


def say_goodbye(demo: Demo, has_pipelines: bool) -> None:
    """Say what the demo leaves behind and what to try with it."""
    name = os.path.relpath(demo.folder)
    print(
        f"""
{name} is left for you to edit: dataflow.toml, scripts, pipelines, data, and the store in .dataflow.
The next demo replaces it, so copy it to keep it. Try:

   source .venv/bin/activate && cd {name}
   dataflow status                        all jobs and datasets at a glance
   dataflow why load {SPOILT}                   why chunk {SPOILT} is INVALID, and the next command
   dataflow resubmit load {SPOILT}              request it again …
   RunJob ./load.sh                       … and run the good script
   dataflow ready orders 7 --again        a new raw file 7: extract, then load, must run again
   dataflow journal --dataid {SPOILT}           every move of chunk {SPOILT}"""
    )
    if has_pipelines:
        print(
            """   dataflow pipeline list                 the pipelines, in pipelines/omis.py
   python orders_api.py                   the API again; it prints what to export before dataflow run …"""
        )
    print(f"\nTo see it all on a page: cd {name} && dataflow up, and open the URL that it prints.")


if __name__ == "__main__":
    sys.exit(main())
