"""The report: what its data says, and what its page does in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from gpudiy.cli import main
from gpudiy.litmus import read_test
from gpudiy.logs import Columns, Record, write_log
from gpudiy.logs.decision import Sighting
from gpudiy.logs.html_report.model_verdicts import VERDICT_WORDS, decide_text, most_telling
from gpudiy.logs.html_report.page import page_text
from gpudiy.logs.html_report.payload import payload
from gpudiy.logs.record import Ending, OutcomeCount
from gpudiy.logs.statistics import rate, zero_bound
from gpudiy.logs.tables.tally import KnownChip, KnownTest, Observations, SightingTally, observe
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer, decide
from gpudiy.shipped import find_shipped

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

THESIS, ASPLOS, SWEEP = (
    str(find_shipped("logs") / name) for name in ("thesis.jsonl", "asplos15.jsonl", "asplos15-incantations.jsonl")
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NASTY = "<script>window.harm=1</script><img src=x onerror=window.harm=1>"
MANY_TESTS, MANY_CHIPS = 5000, 20


def run(test: str, chip: str, count: int = 0, of: int = 1000, **rest: object) -> Record:
    return Record(test=test, chip=chip, iterations=of, positive=count, negative=of - count, **rest)  # type: ignore[arg-type]


def test_verdicts_and_pictures_of_a_test(figures: list[Path]) -> None:
    text = next(path for path in figures if path.name.startswith("A.1")).read_text()
    assert decide_text(text).letters == "faaa"
    drawn = decide_text(text, picture=True)
    assert drawn.picture.startswith("<svg") and "ptx-6.0 allows" in drawn.caption
    assert decide_text("").letters == "----" and decide_text("no test at all").letters == "rrrr"
    forbidden = decide_text(text, models=("sc",), picture=True)
    assert forbidden.picture.startswith("<svg") and "objects to" in forbidden.caption


def test_models_speak_of_what_they_were_made_for(figures: list[Path]) -> None:
    text = next(path for path in figures if path.name.startswith("A.1")).read_text()
    model = load_model("ptx-asplos15")
    assert not decide(read_test(text), model).undecided
    assert decide(read_test(text.replace("ld.cg", "ld.ca")), model).undecided
    assert VERDICT_WORDS[decide_text(text.replace("ld.cg", "ld.ca")).letters[2]] == "undecided (not supported)"
    assert set(Answer) < set(VERDICT_WORDS.values())


def test_tests_that_tell_chips_apart_are_drawn_first() -> None:
    found = observe([run("none", "A"), run("both", "A", 1), run("both", "B", 1), run("one", "A", 1), run("one", "B")])
    assert most_telling(found, list(found.tests), list(found.chips)) == ["one", "both", "none"]


def test_plots_are_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    words = [
        "report",
        THESIS,
        SWEEP,
        "--models",
        "none",
        "-o",
        str(tmp_path / "r.html"),
        "--plots",
        str(tmp_path / "plots"),
    ]
    assert main(words) == 0
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == [
        "heat-map.png", "heat-map.svg", "incantations.png", "incantations.svg",
    ]  # fmt: skip
    assert "incantations.svg" in capsys.readouterr().out
    assert (tmp_path / "plots" / "heat-map.svg").read_text().count("<path") > 20
    assert (tmp_path / "plots" / "heat-map.png").read_bytes().startswith(b"\x89PNG")


def test_bad_input_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        (["nowhere.log"], "no such file"),
        ([THESIS, "--chips", "GTX Titian"], "did you mean 'GTX Titan'?"),
        ([THESIS, "--models", "ptx-6"], "did you mean"),
    ):
        assert main(["report", *words, "-o", str(tmp_path / "r.html")]) == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    words = [
        sys.executable,
        "-m",
        "gpudiy",
        "report",
        THESIS,
        "--models",
        "none",
        "-o",
        str(tmp_path / "file" / "r.html"),
    ]
    stopped = subprocess.run(words, capture_output=True, text=True)
    assert stopped.returncode == 2 and "Traceback" not in stopped.stderr


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    words = ["report", THESIS, ASPLOS, SWEEP, "-o", str(path), "--pictures", "3", "--title", "Chips & <tests>"]
    assert main(words) == 0
    return path


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which every complaint, and every look at a network, is a failure."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    opened = context.new_page()
    problems: list[str] = []
    opened.on(
        "console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None
    )
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
    yield opened
    context.close()
    assert not problems


def visit(page: Page, path: Path, address: str = "") -> None:
    page.goto(path.as_uri() + address)
    page.wait_for_selector("body[data-ready]")


def names(page: Page, grid: str = "#tests-grid") -> list[str]:
    return page.eval_on_selector_all(
        f"{grid} .grid-row",
        "rows => rows.sort((a, b) => a.dataset.row - b.dataset.row).map(r => r.firstChild.textContent)",
    )


def test_filter_and_sort(page: Page, published: Path) -> None:
    visit(page, published)
    assert page.text_content("h1") == "Chips & <tests>"
    everything = names(page)
    assert everything[0] == "cas-sl" and len(everything) == 21
    page.fill("#filter", "mp membar")
    assert names(page) == ["mp-L1+membar.ctas", "mp-L1+membar.gls", "mp-L1+membar.sys+membar.sys"]
    assert page.text_content("#shown") == "3 of 21 tests"
    page.fill("#filter", "no such test")
    assert names(page) == [] and page.is_visible(".grid-empty")
    page.fill("#filter", "")
    page.click("#tests-grid .grid-heading button:text-is('GTX Titan')")
    assert names(page)[0] == "mp-L1"  # 6,011 of 100,000
    page.click("#tests-grid .grid-heading button:text-is('GTX Titan')")
    assert page.get_attribute("#tests-grid .grid-heading:has(button:text-is('GTX Titan'))", "aria-sort") == "ascending"
    page.select_option("#which", "unseen")
    assert names(page) == []
    page.select_option("#which", "differ")
    assert "mp" not in names(page) and "mp-cas" in names(page)


def test_open_a_test(page: Page, published: Path) -> None:
    visit(page, published)
    page.click("#tests-grid .grid-cell.name:text-is('spinlock-future-value')")
    panel = page.locator("#panel")
    assert panel.locator("h2").text_content() == "spinlock-future-value"
    assert "atom.cas" in panel.locator("table.program").inner_text()
    assert panel.locator(".models li").first.inner_text() == "sc forbidden"
    row = panel.locator("table.rates tr", has=page.locator("th:text-is('GTX Titan')")).inner_text()
    known = rate(478, 100_000)
    assert f"478 of 100,000, {known.low * 1e5:.0f} to {known.high * 1e5:.0f} per 100k" in row
    zero = panel.locator("table.rates tr", has=page.locator("th:text-is('GTX 750')")).inner_text()
    assert f"so below {zero_bound(100_000) * 1e5:.2f} per 100k" in zero and "not observed" in zero
    assert "figure 2.13" in panel.locator(".sources").inner_text()
    page.keyboard.press("Escape")
    assert not panel.is_visible() and "test=" not in page.url


def test_address_opens_a_test(page: Page, published: Path) -> None:
    visit(page, published, "#test=coherent-reads")
    assert page.text_content("#panel h2") == "coherent-reads"
    visit(page, published, "#test=no+such+test")
    page.wait_for_selector("#panel", state="hidden")


def test_pictures_are_drawn_or_it_is_said_why_not(page: Page, published: Path) -> None:
    visit(page, published)
    drawn = 0
    for name in names(page):
        page.evaluate("name => { location.hash = new URLSearchParams({ test: name }) }", name)
        page.wait_for_function("name => document.querySelector('#panel-title')?.textContent === name", arg=name)
        image = page.locator("#panel .witness img")
        if image.count():
            page.wait_for_function("() => document.querySelector('#panel .witness img').naturalWidth > 100")
            drawn += 1
        elif page.locator("#panel table.program").count():
            assert "made with 3 pictures" in page.inner_text("#panel")
    assert drawn == 3


def test_compare_two_chips(page: Page, published: Path) -> None:
    visit(page, published)
    page.click("#tab-compare")
    page.select_option("#chip-a", label="GTX Titan")
    page.select_option("#chip-b", label="GTX 750")
    answer = page.text_content("#pair-answer")
    assert answer is not None and answer.startswith(
        "GTX Titan is weaker than GTX 750: it showed all that GTX 750 showed"
    )
    assert "mp-L1" not in names(page, "#pair-grid") and "mp-cas" in names(page, "#pair-grid")
    page.click("#swap")
    assert page.text_content("#pair-answer").startswith("GTX 750 is stronger than GTX Titan")  # type: ignore[union-attr]
    assert "a=GTX+750&b=GTX+Titan" in page.url
    visit(page, published, "#view=compare&a=GTX+660&b=HD+7970")
    page.wait_for_function("() => document.querySelector('#pair-answer').textContent.startsWith('GTX 660')")


def test_a_zero_is_a_difference_only_if_its_bound_says_so(page: Page, tmp_path: Path) -> None:
    records = [run("sure", "A", 50), run("sure", "B"), run("unsure", "A", 1), run("unsure", "B")]
    write_page(tmp_path / "r.html", records)
    visit(page, tmp_path / "r.html", "#view=compare&a=A&b=B")
    kinds = page.eval_on_selector_all("#pair-grid .grid-row", "rows => rows.map(row => row.lastChild.textContent)")
    assert dict(zip(names(page, "#pair-grid"), kinds, strict=True)) == {"sure": "only A", "unsure": "uncertain"}


def test_keyboard_alone(page: Page, published: Path) -> None:
    visit(page, published)
    page.keyboard.press("/")
    page.keyboard.type("cas")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.text_content("#panel h2") == "mp-cas"
    page.keyboard.press("p")
    assert page.text_content("#panel h2") == "cas-sl"
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel", state="hidden")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")  # on the heading
    assert page.get_attribute("#tests-grid [role=columnheader]", "aria-sort") == "descending"
    assert page.evaluate("getComputedStyle(document.querySelector('#tests-grid .active')).outlineStyle") == "solid"
    page.focus("#tab-tests")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#view-compare")


def test_incantations(page: Page, published: Path) -> None:
    visit(page, published, "#view=incantations")
    row = (
        page.locator("#incantation-grid .grid-row", has=page.locator(".name:text-is('sb')")).first.inner_text().split()
    )
    assert row[-5] == "6,673"
    assert page.locator("#incantation-plot .bar").count() == 16


def test_light_and_dark(page: Page, published: Path) -> None:
    def paper() -> object:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    visit(page, published)
    light = paper()
    page.click("#theme")
    dark = paper()
    assert light != dark
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert paper() == dark  # it is remembered
    page.evaluate("localStorage.clear()")
    page.emulate_media(color_scheme="dark")
    page.reload()
    assert paper() == dark


def test_a_narrow_screen_holds_the_page(page: Page, published: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for view in ("tests", "compare", "incantations", "guide"):
        visit(page, published, f"#view={view}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_names_and_texts_are_harmless(page: Page, tmp_path: Path) -> None:
    weak = OutcomeCount(NASTY, 5, True)
    records = [
        run(
            NASTY,
            NASTY,
            5,
            10,
            histogram=(weak, OutcomeCount("x=1;", 5)),
            source=NASTY,
            text=NASTY,
            optcheck_text=NASTY,
        ),
        run(NASTY, "B", ending=Ending.CRASHED, reason=NASTY),
    ]
    write_log(Columns.of(records), str(tmp_path / "a.jsonl"))
    assert main(["report", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "r.html"), "--title", NASTY]) == 0
    visit(page, tmp_path / "r.html")
    page.click("#tests-grid .grid-cell.name")
    assert page.text_content("#panel h2") == NASTY and NASTY in page.inner_text("#panel .histogram")
    page.click("#tab-compare")
    assert page.evaluate("window.harm") is None and page.title() == NASTY


def test_simulated_devices_and_failures_are_labelled(page: Page, tmp_path: Path) -> None:
    records = [
        run("SB", "kepler", 3, simulated=True),
        run("SB", "B", ending=Ending.TIMEOUT, reason="no answer in 30 s"),
    ]
    write_page(tmp_path / "r.html", records)
    visit(page, tmp_path / "r.html")
    assert "1 simulated" in page.inner_text("#summary")
    assert page.is_visible("#tests-grid button:text-is('kepler (simulated)')")
    assert page.text_content("#tests-grid .hatch") == "failed"
    page.click("#tests-grid .grid-cell.name")
    assert "timeout: no answer in 30 s" in page.inner_text("#panel .rates")


def test_intervals_of_the_page_are_those_of_gpudiy(page: Page, tmp_path: Path) -> None:
    write_page(tmp_path / "r.html", [run("SB", "A", 1)])
    visit(page, tmp_path / "r.html")
    random = Random(7)
    for _ in range(200):
        iterations = int(10 ** random.uniform(0, 9))
        sightings = min(iterations, int(10 ** random.uniform(0, 9)))
        found = page.evaluate("([k, n]) => intervalOf(k, n, 0.95)", [sightings, iterations])
        known = rate(sightings, iterations)
        assert found["low"] == pytest.approx(known.low, rel=1e-6) and found["high"] == pytest.approx(
            known.high, rel=1e-6
        )


def test_many_tests_and_chips_keep_few_elements(page: Page, tmp_path: Path) -> None:
    random = Random(1)
    found = Observations()
    for number in range(MANY_TESTS):
        found.tests[f"T{number}"] = KnownTest(f"T{number}")
        for chip in range(MANY_CHIPS):
            count = random.choice((0, 0, random.randrange(1000)))
            sighting = Sighting.OBSERVED if count else Sighting.NOT_OBSERVED
            found.tallies[f"T{number}", f"chip {chip}"] = SightingTally(
                count, 1000, 1, records_by_sighting={sighting: 1}
            )
    found.chips = {f"chip {chip}": KnownChip(f"chip {chip}") for chip in range(MANY_CHIPS)}
    write_page(tmp_path / "r.html", found)
    visit(page, tmp_path / "r.html")
    assert page.text_content("#shown") == "5,000 tests"
    page.evaluate("document.getElementById('tests-grid').scrollTop = 100000")
    page.wait_for_function("() => document.querySelector('#tests-grid [aria-rowindex=\"3128\"]')")
    assert page.evaluate("document.querySelectorAll('*').length") < 2500
    page.fill("#filter", "T499")
    assert names(page) == ["T499", *(f"T{number}" for number in range(4990, 5000))]
    page.focus("#tests-grid")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.text_content("#panel h2") == "T4999"
    page.click("#tab-compare")
    assert re.search(r"differ both ways", page.text_content("#pair-answer") or "")


def write_page(path: Path, records: Observations | list[Record]) -> None:
    found = records if isinstance(records, Observations) else observe(records)
    data = payload(found, list(found.tests), list(found.chips), {}, (), 0)
    path.write_text(page_text(data, "Report"), encoding="utf-8")
