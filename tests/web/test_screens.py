"""Every screen: in light and dark, on a phone and a desktop, without JavaScript, and on paper."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from dataflow.web.pages import PAGES
from tests.acceptance.flow import Flow
from tests.api.served import Served
from tests.project import Project
from tests.web.browser import DESKTOP, PHONE, Visitor, list_faults
from tests.web.shop import BAD, open_shop

SCREENS = (
    "/",
    "/datasets",
    "/datasets/orders",
    "/datasets/orders?period=2026",
    "/datasets/orders?period=2026-08",
    "/datasets/totals?status=FAILED",
    "/datasets/clicks?period=2026-08-01",
    "/datasets/shards",
    "/datasets/files?from=a.csv&to=a.csv",
    f"/chunks/totals?dataid={BAD}",
    "/chunks/totals?dataid=2026-08-01",
    "/chunks/orders?dataid=2026-08-01",
    "/jobs",
    "/jobs/sum",
    f"/why?job=sum&dataid={BAD}",
    "/runs",
    "/runs?job=&dataid=&outcome=FAILED",
    "/runs/3",
    "/runs/3?text=orders",
    "/workers",
    "/journal",
    "/search?q=o",
    "/act/jobs/sum/resubmit",
    "/act/jobs/sum/resubmit?state=FAILED",
    "/act/jobs/sum/hold",
    "/act/jobs/sum/mark?dataid=2026-08-03",
    "/act/jobs/sum/scale?max_running=2",
    "/act/datasets/orders/invalidate?dataids=2026-08-01",
    "/act/datasets/orders/ready",
    "/act/pause",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One shop for all tests of this file: they only look."""
    folder = tmp_path_factory.mktemp("shop")
    for name in ("project", "home"):
        (folder / name).mkdir()
    flow = Flow(Project(folder / "project", folder / "home"), f"sqlite:///{folder}/dataflow.db")
    open_shop(flow)
    with Served(flow) as found:
        yield found
    flow.end()


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    found = Visitor(browser, served)
    yield found
    for context in browser.contexts:
        context.close()
    assert found.watch.faults == []


def test_every_path_of_the_page_is_among_the_screens() -> None:
    shown = {route.path for route in PAGES.routes if route.method == "GET"}
    tested = {path.partition("?")[0] for path in SCREENS}
    elsewhere = {"/login", "/login/provider", "/oauth2callback", "/start", "/static/{hash}/{file}"}
    # Lineage and pipelines: test_run_screen and test_job_screen.
    for path in sorted(shown - elsewhere - {"/lineage", "/pipelines", "/pipelines/{pipeline}"}):
        if path.startswith("/act/"):
            continue  # all forms are of one template
        pattern = re.sub(r"{\w+}", "[^/]+", path)
        assert any(re.fullmatch(pattern, one) for one in tested), path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_no_serious_fault(visitor: Visitor, scheme: str, viewport: dict[str, int]) -> None:
    page = visitor.open("/", color_scheme=scheme, viewport=viewport)
    faults = {}
    for path in SCREENS:
        answer = page.goto(path)
        assert answer is not None and answer.status == 200, path
        if found := list_faults(page):
            faults[path] = found
    assert faults == {}


def test_no_screen_is_wider_than_a_phone(visitor: Visitor) -> None:
    page = visitor.open("/", viewport=PHONE)
    for path in SCREENS:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path


def test_every_screen_reads_without_javascript(visitor: Visitor) -> None:
    live = visitor.open("/")
    still = visitor.open("/", java_script_enabled=False)
    for path in SCREENS:
        live.goto(path)
        still.goto(path)
        headings = still.get_by_role("heading").all_inner_texts()
        assert headings == live.get_by_role("heading").all_inner_texts(), path
        assert "{{" not in still.content() and "None" not in still.locator("main").inner_text(), path


def test_an_action_works_without_javascript(visitor: Visitor) -> None:
    page = visitor.open("/jobs/report", java_script_enabled=False)
    page.get_by_role("link", name="Pause").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", name="Pause report")).to_be_visible()  # the reason is missing
    page.get_by_label("Reason").fill("a look at the data")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Done.")).to_be_visible()
    page.get_by_role("link", name="Back").click()
    page.get_by_role("link", name="Resume").click()
    page.get_by_label("Reason").fill("all right")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("Done.")).to_be_visible()


def test_keys_search_go_to_a_screen_and_show_themselves(visitor: Visitor) -> None:
    page = visitor.open("/jobs")
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page).to_have_url(re.compile("/datasets$"))
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("g d tot")  # in a field, keys are text
    expect(page).to_have_url(re.compile("/datasets$"))
    page.get_by_role("searchbox").fill("tot")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="totals")).to_be_visible()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(dialog).to_be_visible()


def test_on_paper_there_are_no_controls(visitor: Visitor) -> None:
    page = visitor.open("/datasets/orders?period=2026-08")
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation", name="Screens")).to_be_hidden()
    expect(page.get_by_role("link", name="Invalidate")).to_be_hidden()
    expect(page.get_by_role("heading", name="orders")).to_be_visible()


def zoom(page: Page, name: str) -> None:
    page.locator("svg.grid").get_by_role("link", name=name).click()


def test_the_grid_goes_from_a_year_to_an_hour_and_back_one_click_at_a_time(visitor: Visitor) -> None:
    page = visitor.open("/datasets/clicks")
    zoom(page, "2026: 48 READY")
    expect(page).to_have_url(re.compile(r"period=2026$"))
    zoom(page, "2026-08: 48 READY")
    zoom(page, "2026-08-01: 24 READY")
    expect(page.get_by_role("navigation", name="Zoom")).to_contain_text("2026-08-01")
    zoom(page, "2026-08-01T05")
    expect(page.get_by_role("heading", name="clicks/2026-08-01T05")).to_be_visible()
    page.go_back()
    page.get_by_role("navigation", name="Zoom").get_by_role("link", name="2026-08", exact=True).click()
    expect(page).to_have_url(re.compile(r"period=2026-08$"))
    page.get_by_text("The same as a table").click()
    table = page.get_by_role("table").first
    expect(table.get_by_role("row").filter(has_text="2026-08-02")).to_contain_text("READY 24")


def test_a_range_of_cells_is_selected_and_acted_on(visitor: Visitor) -> None:
    page = visitor.open("/datasets/totals?period=2026-08")
    cells = page.locator("svg.grid a")
    cells.nth(1).click(modifiers=["Shift"])
    expect(page.get_by_label("From")).to_have_value("2026-08-02")
    cells.nth(3).click(modifiers=["Shift"])
    expect(page).to_have_url(re.compile("from=2026-08-02&to=2026-08-04"))
    expect(page.get_by_role("list", name="Chunks by status")).to_contain_text("3 chunks")
    page.get_by_role("link", name="Invalidate").click()
    expect(page.get_by_role("heading", name="It will touch")).to_be_visible()


def test_a_status_of_the_legend_lists_its_chunks(visitor: Visitor) -> None:
    page = visitor.open("/datasets/totals?period=2026")
    page.get_by_role("list", name="Chunks by status").get_by_role("link", name="FAILED").click()
    rows = page.get_by_role("table").last.locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(BAD)


def test_datasets_say_whether_they_are_as_fresh_as_declared(visitor: Visitor) -> None:
    page = visitor.open("/datasets")
    row = page.get_by_role("table").locator("tbody tr")
    expect(row.filter(has_text="clicks")).to_contain_text("late")
    expect(row.filter(has_text="shards")).to_contain_text("fresh fresh within 7d")
    expect(row.filter(has_text="totals")).to_contain_text("nothing declared")


PIXEL = """async (image) => {
  const shown = await createImageBitmap(await (await fetch(image)).blob());
  const canvas = new OffscreenCanvas(shown.width, shown.height).getContext("2d");
  canvas.drawImage(shown, 0, 0);
  return [...canvas.getImageData(shown.width / 2, 4, 1, 1).data].slice(0, 3);
}"""


def test_a_cell_has_the_colour_of_its_status(visitor: Visitor) -> None:
    page = visitor.open("/datasets/totals?period=2026-08")
    blank = page.context.new_page()
    for name, kind in (("2026-08-01", "done"), (BAD, "bad")):
        cell = page.locator("svg.grid").get_by_role("link", name=name)
        image = base64.b64encode(cell.screenshot()).decode()
        wanted = page.locator(f".mark.{kind}").first.evaluate("mark => getComputedStyle(mark).color")
        pixel = blank.evaluate(PIXEL, f"data:image/png;base64,{image}")
        assert wanted == f"rgb({', '.join(map(str, pixel))})", name
