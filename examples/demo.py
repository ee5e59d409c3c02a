"""A hundred chunks through two jobs, a kill -9 in the middle, and nothing lost: `make demo`.

It makes the folder demo-project anew, works in it with the real commands, counts what the scripts themselves
wrote down, goes on with pipelines (demo_pipelines.py) where there is Java, and leaves the folder to be played
with. Any number that is wrong ends it with exit code 1.
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
    """The whole demo; every step says what it shows."""
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
    """A fresh project: scripts, raw files, and the declarations applied."""
    demo.step(
        "A project: scripts, and dataflow.toml, which declares orders → extract → extracted → load → loaded."
    )
    if demo.folder.exists() and not (demo.folder / "load-broken.sh").exists():
        fail(f"{demo.folder} is not a folder that this demo made. Move it away, or name another one.")
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
    """The raw files are there; saying so is what makes work."""
    demo.step(f"{CHUNKS} raw files have arrived. Saying so is all that is needed; nothing else is scheduled.")
    show(demo.run(f"dataflow ready orders --from 1 --to {CHUNKS}"))


def run_and_kill(demo: Demo) -> None:
    """The first job, in two streams, killed where it stands."""
    demo.step("The first job in two streams, killed with -9 in the middle.")
    print("   $ RunJob --drain -j 2 --quiet ./extract.sh &")
    process = demo.start("RunJob --drain -j 2 --quiet ./extract.sh", stdin=subprocess.DEVNULL)
    while len(demo.list_recorded()) < KILL_AFTER:
        if process.poll() is not None:
            fail(f"RunJob ended by itself with {process.returncode}")
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    code = process.wait()
    print(f"   $ kill -9 {process.pid}")
    expect(code == -signal.SIGKILL, f"RunJob was to be killed by SIGKILL and ended with {code}")
    done = len({dataid for _, dataid, _ in demo.list_recorded()})
    expect(KILL_AFTER <= done < CHUNKS, f"it was to be killed in the middle, not after {done} chunks")
    print(f"   It is dead, and so are the scripts it had started. They had come to the end of {done} chunks.")


def ask_why(demo: Demo) -> None:
    """The second job's last chunk is blocked; why, and what to do about it."""
    demo.step(f"The second job waits for what is missing. Why is its chunk {CHUNKS} not done?")
    show(demo.run(f"dataflow why load {CHUNKS}"), 12)
    found = demo.ask(f"dataflow why load {CHUNKS}")
    answers = {answer["question"]: answer["answer"] for answer in found["answers"]}
    expect(answers["ready"] == "no", f"chunk {CHUNKS} was to be blocked: {found}")
    expect("extract.sh" in found["next"], f"the next command was to be extract.sh: {found['next']}")


def run_again(demo: Demo) -> None:
    """The same command goes on by itself; then the second job."""
    demo.step("The same command again. It goes on by itself: no clean-up, no flag, nothing to remember.")
    show(demo.run("RunJob --drain -j 2 ./extract.sh"), 1)
    lost = demo.ask("dataflow runs --outcome lost --limit 1000")
    runs = " and ".join(str(run["run_id"]) for run in sorted(lost, key=lambda run: int(run["run_id"])))
    expect(len(lost) > 0, "the killed RunJob was to leave at least one lost run")
    print(f"   The killed RunJob held run {runs}; their chunks were given to new runs.")
    demo.step("The second job, over what the first has published.")
    show(demo.run("RunJob --drain -j 2 ./load.sh"), 1)


def spoil_one(demo: Demo) -> None:
    """A bad result is not published: the old version stays as it was."""
    demo.step(
        f"Chunk {SPOILT} is loaded again by a script that loses rows, and the check in dataflow.toml says no."
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
    expect(before["location"] == after["location"], f"the published place moved: {before} became {after}")
    expect(before["version"] == after["version"] == 1, f"version 1 was to stay: {before} became {after}")
    expect((demo.folder / after["location"]).read_text() == content, "the published content changed")
    expect(len(content.splitlines()) == 5, f"the published content was to have 5 rows: {content}")
    print("   It is INVALID, and what was published before is still there, whole:")
    show(demo.run(f"cat {after['location']}"), 5)


def count(demo: Demo) -> None:
    """Counts the lines that the scripts wrote, of the runs that were accepted."""
    demo.step("The count, from what the scripts themselves wrote down.")
    recorded = demo.list_recorded()
    accepted = {run["run_id"]: run for run in demo.ask("dataflow runs --outcome done --limit 1000")}
    ends = Counter((job, dataid) for job, dataid, run_id in recorded if run_id in accepted)
    others = len(recorded) - ends.total()
    print("   The last thing each script does is to add its job, dataid and run id to ledger.txt. There,")
    print(
        f"   {ends.total()} lines are of runs that were accepted, {others} of runs that were not: the INVALID"
    )
    print("   one, and any that ended just as its RunJob was killed. Those published nothing.")
    dataids = [str(number) for number in range(1, CHUNKS + 1)]
    per_chunk = [(ends["extract", dataid], ends["load", dataid]) for dataid in dataids]
    skipped = sum(min(pair) == 0 for pair in per_chunk)
    twice = sum(max(pair) > 1 for pair in per_chunk)
    versions = [chunk["version"] for chunk in demo.ask("dataflow chunks loaded")]
    print(f"\n{len(versions)} chunks, {skipped} skipped, {twice} twice")
    expect(versions == [1] * CHUNKS, f"each of {CHUNKS} chunks was to be published once: {versions}")
    expect(not skipped and not twice, "no chunk may be skipped or done twice")
    expect(ends.total() == 2 * CHUNKS == len(accepted), f"{ends.total()} ends, {len(accepted)} accepted runs")


def say_goodbye(demo: Demo, has_pipelines: bool) -> None:
    """What is left behind, and what to try with it."""
    name = os.path.relpath(demo.folder)
    print(
        f"""
{name} is left for you to edit: dataflow.toml, scripts, pipelines, data, and the store in .dataflow.
The next demo makes it anew, so copy it to keep it. Try:

   source .venv/bin/activate && cd {name}
   dataflow status                        how everything stands
   dataflow why load {SPOILT}                   why chunk {SPOILT} is INVALID, and the next command
   dataflow resubmit load {SPOILT}              have it done again …
   RunJob ./load.sh                       … by the good script
   dataflow ready orders 7 --again        a new raw file 7: extract, and then load, has it to do again
   dataflow journal --dataid {SPOILT}           every move of chunk {SPOILT}"""
    )
    if has_pipelines:
        print(
            """   dataflow pipeline list                 the pipelines, in pipelines/omis.py
   python orders_api.py                   the API again; it says what to export before dataflow run …"""
        )


if __name__ == "__main__":
    sys.exit(main())
