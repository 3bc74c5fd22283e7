"""The widget in JupyterLab, in Chromium: the page is drawn, and its tables are there."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from late import needs, playwright
from report_page import CHROMIUM, SOFTWARE, labelled_model

pytestmark = [
    pytest.mark.full,
    needs("jupyterlab"),
    needs("anywidget"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]

CODE = "import geodomain\ngeodomain.view('labelled.csv', domains={'ORE': 'ore.stl'}, height=500)"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """Return the address of a server of JupyterLab with a notebook of one cell."""
    labelled_model(tmp_path)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": CODE}
    book = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel},
        "cells": [cell | {"execution_count": None}],
    }
    (tmp_path / "a.ipynb").write_text(json.dumps(book))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--port={port}", f"--ServerApp.root_dir={tmp_path}"]
    options += ["--IdentityProvider.token=", "--LabApp.news_url=None"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            time.sleep(1)
            try:
                urlopen(f"{address}/api").close()
                break
            except OSError:
                assert server.poll() is None, (tmp_path / "log").read_text()
        yield f"{address}/lab/tree/a.ipynb"
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(tmp_path / ".ipynb_checkpoints", ignore_errors=True)


def test_the_widget_is_drawn(lab: str) -> None:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=SOFTWARE)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        # A build is recommended where other extensions are installed; on a busy machine there are
        # dialogs about the server or the kernel.
        buttons = page.locator("dialog button")
        cancel = page.locator("dialog button", has_text="Cancel")
        page.add_locator_handler(
            buttons.first, lambda: (cancel if cancel.count() else buttons).last.click()
        )
        page.goto(lab)
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
        # What is pressed before the notebook has its kernel may be lost.
        prompt = page.locator(".jp-Notebook .jp-Cell .jp-InputPrompt").first
        for _ in range(60):
            page.click(".jp-Notebook .jp-Cell .cm-content")
            page.keyboard.press("Shift+Enter")
            page.wait_for_timeout(2_000)
            if prompt.inner_text().strip() not in ("", "[ ]:"):
                break
        frame = page.frame_locator('iframe[title="labelled.csv by domain"]')
        frame.locator("body[data-ready]").wait_for(timeout=120_000)
        first = frame.locator("#domains tbody tr").first.inner_text()
        assert first.split()[0] == "ORE"
        assert frame.locator("#canvas").bounding_box()["height"] > 100
        browser.close()
