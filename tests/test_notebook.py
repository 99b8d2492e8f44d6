"""The notebook of the documentation: it runs from top to bottom, and every value in it shows itself."""

from __future__ import annotations

import re
import shutil
from typing import Any

import pytest
from conftest import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
pytestmark = pytest.mark.filterwarnings("default")  # those of Jupyter are not ours


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook with its outputs; an error in a cell fails here."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs" / "examples", folder / "examples")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    return nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()


def shown(cell: Any) -> dict[str, str]:
    """What a cell shows, by MIME type."""
    return {kind: str(text) for output in cell.outputs for kind, text in output.get("data", {}).items()}


def cell_with(notebook: Any, source: str) -> Any:
    return next(cell for cell in notebook.cells if cell.cell_type == "code" and source in cell.source)


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code and not any(cell.outputs or cell.execution_count for cell in code)
    assert not re.search(r"/(?:home|root|tmp|work|Users)/", NOTEBOOK.read_text())


def test_values_show_themselves(executed: Any) -> None:
    assert "atom.cas.b32" in shown(cell_with(executed, "gpudiy.read("))["text/html"]
    assert "<svg" in shown(cell_with(executed, 'verdicts["verdict"][1]'))["text/html"]
    assert "forbidden by sc" in shown(cell_with(executed, 'verdicts["verdict"][0]'))["text/html"]
    assert "| mp-cas |" in shown(cell_with(executed, "gpudiy.table("))["text/markdown"]
    assert "weaker than" in shown(cell_with(executed, "gpudiy.compare("))["text/html"]
    assert "observed and allowed" in shown(cell_with(executed, "gpudiy.conform("))["text/html"]
    assert "is wrong by" in shown(cell_with(executed, "gpudiy.check_lock("))["text/html"]


def test_it_becomes_a_page(executed: Any) -> None:
    nbconvert = pytest.importorskip("nbconvert")
    page, _ = nbconvert.HTMLExporter(template_name="classic").from_notebook_node(executed)
    assert page.count("<svg") >= 3
    assert "Traceback (most recent" not in page
