"""Applying declarations: the difference first, all or nothing, nothing removed; export writes it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.actions.apply import apply_changes, export_declarations, plan_changes
from dataflow.actions.differences import Change
from dataflow.actions.register import add_dataset
from dataflow.config.declarations import Declarations, read_declarations
from dataflow.errors import BadInput, Conflict, UnknownName
from dataflow.model.records import Dataset
from dataflow.secrets.cipher import encrypt
from tests.store.world import World

CHEAP = 2**10

CHAIN = """
[dataset.orders]
hostname = "db1"
grain = "daily"
[dataset.totals]
grain = "daily"
[job.sum]
in = ["orders", "totals:previous"]
out = ["totals"]
start = 2026-01-01
retries = 2
lease = "1m"
[job.sum.environment]
region = "eu"
[job.report]
in = ["totals", "today"]
schedule = "@daily"
"""


def declare(tmp_path: Path, text: str) -> Declarations:
    path = tmp_path / "flow.toml"
    path.write_text(text)
    return read_declarations([str(path)])


def told(changes: list[Change]) -> list[str]:
    return [str(change) for change in changes]


def test_a_plan_shows_what_would_change_and_changes_nothing(world: World, tmp_path: Path) -> None:
    changes = plan_changes(world.store, declare(tmp_path, CHAIN))
    assert told(changes) == [
        *("dataset orders added", "dataset totals added"),
        *("job sum added", "job report added"),
    ]
    assert [str(difference) for difference in changes[2].differences] == [
        *("in: orders, totals:previous", "out: totals", "environment: region=eu", "start: 2026-01-01"),
        *("retries: 2", "lease: 1m"),
    ]
    assert world.store.read.list_datasets() == []
    assert world.journal() == []


def test_applying_twice_changes_nothing_the_second_time(world: World, tmp_path: Path) -> None:
    declarations = declare(tmp_path, CHAIN)
    apply_changes(world.store, declarations)
    revision = world.plan("sum").revision
    assert {change.what for change in plan_changes(world.store, declarations)} == {"unchanged"}
    assert {change.what for change in apply_changes(world.store, declarations)} == {"unchanged"}
    assert world.plan("sum").revision == revision


def test_what_is_not_declared_stays(world: World, tmp_path: Path) -> None:
    add_dataset(world.store, Dataset("other"))
    apply_changes(world.store, declare(tmp_path, CHAIN))
    assert "other" in world.store.read.list_names("dataset")


def test_one_invalid_declaration_rejects_the_whole_file(world: World, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match='"totls"'):
        apply_changes(world.store, declare(tmp_path, CHAIN.replace('in = ["totals", ', 'in = ["totls", ')))
    with pytest.raises(BadInput, match="lease 3s is too short"):
        apply_changes(world.store, declare(tmp_path, CHAIN.replace('"1m"', '"3s"')))
    assert world.store.read.list_datasets() == []
    assert world.journal() == []


def test_a_cycle_or_a_second_producer_within_one_file_is_refused(world: World, tmp_path: Path) -> None:
    text = "[dataset.a]\n[dataset.b]\n[job.x]\nin=['a']\nout=['b']\n[job.y]\nin=['b']\nout=['{}']\n"
    with pytest.raises(Conflict, match=r"x → y → x"):
        plan_changes(world.store, declare(tmp_path, text.format("a")))
    with pytest.raises(Conflict, match="b is already produced by job"):
        plan_changes(world.store, declare(tmp_path, text.format("b")))


def test_outputs_can_move_between_jobs_and_grains_can_change_together(world: World, tmp_path: Path) -> None:
    text = (
        "[dataset.a]\n[dataset.b]\n[dataset.c]\n"
        "[job.x]\nin=['a']\nout=['{}']\n[job.y]\nin=['a']\nout=['{}']\n"
    )
    apply_changes(world.store, declare(tmp_path, text.format("b", "c")))
    apply_changes(world.store, declare(tmp_path, text.format("c", "b")))
    assert (world.plan("x").job.outputs, world.plan("y").job.outputs) == (("c",), ("b",))
    daily = text.replace("]\n", "]\ngrain='daily'\n", 3).format("c", "b")
    apply_changes(world.store, declare(tmp_path, daily))
    assert (world.plan("x").grain, world.plan("y").grain) == ("daily", "daily")


def test_export_reads_back_unchanged_and_omits_automatic_datasets(world: World, tmp_path: Path) -> None:
    apply_changes(world.store, declare(tmp_path, CHAIN))
    text = export_declarations(world.store)
    assert "calendar" not in text
    assert "dataset.today" not in text
    assert {change.what for change in plan_changes(world.store, declare(tmp_path, text))} == {"unchanged"}


def test_a_file_without_the_password_does_not_remove_it(world: World, tmp_path: Path) -> None:
    record = encrypt("correct horse", "battery staple", "dataset:orders", scrypt_n=CHEAP)
    add_dataset(world.store, Dataset("orders", encryptedpass=record))
    text = export_declarations(world.store)
    assert record not in text
    assert record in export_declarations(world.store, with_secrets=True)
    declarations = declare(tmp_path, text.replace("[dataset.orders]", "[dataset.orders]\nformat='csv'"))
    apply_changes(world.store, declarations)
    assert world.dataset_record("orders")[1] == Dataset("orders", format="csv", encryptedpass=record)


def test_a_secret_in_a_location_is_not_exported_and_its_mask_is_not_applied(
    world: World, tmp_path: Path
) -> None:
    kept = Dataset("orders", location="https://me:hunter2@h/{dataid}?sig=hunter3&page=2")
    world.dataset("orders", location=kept.location)
    text = export_declarations(world.store, with_secrets=True)
    assert "https://me:***@h/{dataid}?sig=***&page=2" in text
    assert "hunter" not in text
    assert told(apply_changes(world.store, declare(tmp_path, text))) == ["dataset orders unchanged"]
    assert world.dataset_record("orders")[1] == kept
    for changed in (text.replace("page=2", "page=3"), text.replace("dataset.orders", "dataset.copied")):
        with pytest.raises(BadInput, match="--password-stdin") as error:
            apply_changes(world.store, declare(tmp_path, changed))
        assert "hunter" not in str(error.value)
    assert world.dataset_record("orders")[1] == kept


def test_a_changed_password_is_reported_without_showing_it(world: World, tmp_path: Path) -> None:
    one, other = (
        encrypt(word, "battery staple", "dataset:a", scrypt_n=CHEAP) for word in ("password1", "password2")
    )
    add_dataset(world.store, Dataset("a", encryptedpass=one))
    [change] = apply_changes(world.store, declare(tmp_path, f"[dataset.a]\nencryptedpass = '{other}'"))
    assert [str(difference) for difference in change.differences] == ["password: a password → a new password"]
    assert other not in str(world.journal())


def test_a_job_may_read_the_calendar_of_one_declared_after_it(world: World, tmp_path: Path) -> None:
    text = "[job.follow]\nin=['lead.calendar']\n[job.lead]\nschedule='@daily'\n"
    assert told(apply_changes(world.store, declare(tmp_path, text))) == ["job lead added", "job follow added"]


def test_a_mistyped_input_suggests_a_dataset_of_the_same_file(world: World, tmp_path: Path) -> None:
    text = '[dataset.orders]\n[job.load]\nin = ["order"]\n'
    with pytest.raises(UnknownName, match=r'no dataset "order" for --in\. Did you mean "orders"'):
        plan_changes(world.store, declare(tmp_path, text))
