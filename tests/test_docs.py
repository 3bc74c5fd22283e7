"""What the README and the pages of the site show runs, and what they should mention they mention.

The blocks of a page run in their order, in a folder that begins with what the README's first
command makes. Python blocks that follow each other are one program. Blocks that make a virtual
environment are left to `.ci/run`, which runs them to the letter.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from geodomain.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
GENERATED = {"gallery", "generated", "commands", "commands.md"}
SITE_PAGES = sorted(page for page in DOCS.rglob("*.md") if not GENERATED & set(page.parts))
PAGES = [ROOT / "README.md", ROOT / "kernels" / "README.md", *SITE_PAGES]
RUN = {"sh", "python", "pycon"}
SHOWN = {"text", "toml", "json", "powershell", "cpp"}
REPOSITORY = "https://github.com/geodomain/geodomain/"
SITE = "https://geodomain.readthedocs.io/en/latest/"

Block = tuple[str, str]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the kind and the text of each block of a page; directives are no blocks."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def runs_of(page: Path) -> list[Block]:
    """Return what a reader of a page would run, blocks of one kind in a row joined."""
    wanted = [block for block in blocks_of(page) if block[0] in RUN and "-m venv" not in block[1]]
    return [
        (kind, "\n".join(text for _, text in group))
        for kind, group in itertools.groupby(wanted, key=lambda block: block[0])
    ]


def command_of(kind: str, text: str, folder: Path) -> list[str]:
    """Return the command that runs a block."""
    if kind == "sh":
        return ["bash", "-euo", "pipefail", "-c", text]
    if kind == "python":
        return [sys.executable, "-W", "error", "-c", text]
    session = folder / "session.txt"
    session.write_text(text, encoding="utf-8")
    return [sys.executable, "-W", "error", "-m", "doctest", str(session)]


def printed_of(page: Path) -> list[str]:
    """Return each part of the text blocks that follow what is run, without `...` and blank lines.

    Blanks and line ends are joined to one blank, as pages wrap long messages. A text block with
    commands or a program is no output.
    """
    blocks = blocks_of(page)
    texts = [
        text
        for (kind, _), (shown, text) in itertools.pairwise(blocks)
        if kind in RUN and shown == "text" and not text.startswith(("geodomain", "import ", "pip "))
    ]
    parts = [
        part for text in texts for part in re.split(r"^(?:\.\.\.)?\n", text, flags=re.MULTILINE)
    ]
    return [" ".join(part.split()) for part in parts if part.strip()]


def run(command: list[str], folder: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}{done.stderr}"
    return f"{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what the README's first command leaves behind."""
    folder = tmp_path_factory.mktemp("readme")
    run(["geodomain", "demo", "demo", "--quiet"], folder)
    return folder / "demo"


@pytest.fixture
def folder(demo: Path, tmp_path: Path) -> Path:
    """Return a folder with the demo in it."""
    shutil.copytree(demo, tmp_path / "demo", copy_function=os.link)
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="blocks for a POSIX shell")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page == PAGES[0] else pytest.mark.full, id=name_of(page))
        for page in PAGES
        if runs_of(page)
    ],
)
def test_blocks_of_a_page_run(page: Path, folder: Path) -> None:
    printed = [run(command_of(kind, text, folder), folder) for kind, text in runs_of(page)]
    said = " ".join("\n".join(printed).split())
    assert [part for part in printed_of(page) if part not in said] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    fences = re.findall(r"^ *(`{3,})(\S*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    opened = [kind for _, kind in fences if kind and not kind.startswith("{")]
    assert set(opened) <= RUN | SHOWN
    assert len(opened) == len(blocks_of(page)), "a block that begins and ends at the margin"
    assert len(fences) % 2 == 0


def test_the_set_up_commands_are_there_to_be_copied() -> None:
    install, test = [text for _, text in blocks_of(ROOT / "README.md") if "python3 -m venv" in text]
    assert install == (
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/geodomain demo demo\n"
    )
    assert test == (
        "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && "
        ".venv/bin/python -m pytest\n"
    )


def test_all_that_a_newcomer_needs_comes_by_line_40() -> None:
    top = "\n".join(README.splitlines()[:40])
    for needed in ("<img", "pip install", "geodomain label", "```python", "label_blocks"):
        assert needed in top
    assert top.count("```") % 2 == 0


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_command_is_mentioned(name: str) -> None:
    assert f"geodomain {name}" in README


def test_every_kernel_file_is_named_where_to_look() -> None:
    kernels = ROOT / "kernels"
    table = (kernels / "README.md").read_text(encoding="utf-8")
    headers = [path.relative_to(kernels).as_posix() for path in kernels.rglob("*.h")]
    launch = [path.name for path in (kernels / "launch").iterdir()]
    named = set(re.findall(r"`([\w./]+)`", table))
    assert len(headers) > 50
    assert {*headers, *launch} - named - {
        path for path in launch if f"launch/{path}" in named
    } == set()


def test_every_folder_is_named_in_the_architecture() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    folders = [path.parent for path in (ROOT / "geodomain").glob("*/__init__.py")]
    assert len(folders) > 10
    assert [path.name for path in folders if f"{path.name}/`" not in page] == []


def test_where_is_says_where_it_is() -> None:
    """Each row of the table names files, and names that are in one of the files before them."""
    page = (DOCS / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+ .*?)\? \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) > 10
    for question, answer in rows:
        words = re.findall(r"`([^`]+)`", answer)
        places = [word for word in words if re.search(r"\.(py|h)$", word)]
        assert places, question
        first = ROOT / places[0]
        files = [ROOT / place if "/" in place else first.parent / place for place in places]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        names = [word for word in words if word.isidentifier()]
        assert [name for name in names if not re.search(rf"\b{name}\b", text)] == [], question


def test_gpu_memory_has_the_constants_of_the_code() -> None:
    """Each bound of the table is the value of the constant that it names."""
    page = (DOCS / "CONTRIBUTING.md").read_text(encoding="utf-8")
    bounds = re.findall(r"`([A-Z_]+)` in `(\w+)\.py`: ([\d,]+)( MiB)?", page)
    assert len(bounds) == 8
    for name, module, number, mebibytes in bounds:
        value = getattr(import_module(f"geodomain.compute.cuda.{module}"), name)
        unit = 1 << 20 if mebibytes else 1
        assert value == int(number.replace(",", "")) * unit, f"{name} of {module}.py"


def named_files_of(page: Path) -> list[str]:
    """Return what a page names in backticks and looks like a file or folder of this checkout."""
    words = re.findall(r"`([\w./-]+)`", page.read_text(encoding="utf-8"))
    roots = ("geodomain/", "kernels/", "cli/", "tests/", "docs/", "examples/", ".ci/", ".github/")
    files = [word for word in words if "NAME" not in word]
    return [word for word in files if word.startswith(roots) or re.search(r"\w\.(h|cpp|cu)$", word)]


def is_in_checkout(name: str) -> bool:
    """Return whether a name leads to a file, from the root, from kernels/ or one of its folders."""
    kernels = ROOT / "kernels"
    folders = [ROOT, kernels, *(path for path in kernels.iterdir() if path.is_dir())]
    return any((folder / name).exists() for folder in folders)


@pytest.mark.parametrize(
    "page",
    [*PAGES, ROOT / "geodomain/reporting/viewer/README.md"],
    ids=name_of,
)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    assert [name for name in named_files_of(page) if not is_in_checkout(name)] == []


def test_no_sentence_of_the_users_page_has_six_numbers() -> None:
    """Tables have the numbers; who reads the page need not compare them within a sentence."""
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    prose = re.sub(r"^(\||```|:).*$", "", page, flags=re.MULTILINE)
    sentences = re.split(r"[.:;?]\s", prose)
    assert len(sentences) > 10
    assert [each for each in sentences if len(re.findall(r"\d[\d.,]*", each)) > 5] == []


def links_of(page: Path) -> list[str]:
    """Return the targets of the links and pictures of a page."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)


def leads_into(target: str, page: Path) -> Path | None:
    """Return the file of this checkout that a link leads to, or None where it leads elsewhere."""
    target = target.partition("#")[0]
    if found := re.fullmatch(REPOSITORY + r"(?:blob|tree|raw)/main/(.+)", target):
        return ROOT / found[1]
    if target.startswith(SITE):
        return DOCS / target.removeprefix(SITE).replace(".html", ".md")
    return page.parent / target if target and "://" not in target else None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_into_the_project_lead_somewhere(page: Path) -> None:
    found = {link: leads_into(link, page) for link in links_of(page)}
    missing = [link for link, path in found.items() if path is not None and not exists(path)]
    assert not missing


def exists(path: Path) -> bool:
    """Return whether a file is there, or is made when the site is."""
    return path.exists() or bool(GENERATED & set(path.parts))


def test_links_of_the_readme_work_on_other_sites() -> None:
    links = links_of(ROOT / "README.md")
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)


def test_printed_tables_scroll_and_messages_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    import printed_tables

    table = "domain  count   min  max\nORE        12  0.01    3\n"
    assert printed_tables.is_table(table) and printed_tables.is_table(f"AU\n{table}")
    for text in ("error: b.csv: AU is not a number. Correct the cell.", "  a  b\n  c  d\n  e  f\n"):
        assert not printed_tables.is_table(text)


def test_hyphens_of_options_stay_hyphens() -> None:
    """Else the examples of commands have an en dash on the site, and cannot be copied."""
    assert re.search(r"^smartquotes = False$", (DOCS / "conf.py").read_text(), re.MULTILINE)


@pytest.mark.skipif(os.name == "nt", reason="braces are expanded by bash")
@pytest.mark.parametrize("script", ["run", "sanitizers"])
def test_ci_names_files_that_are_there(script: str) -> None:
    text = Path(ROOT, ".ci", script).read_text(encoding="utf-8")
    named = re.findall(r"tests/[\w{},/]+\.py", text)
    shown = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {' '.join(named)}"],
        capture_output=True,
        text=True,
        check=True,
    )
    files = shown.stdout.split()
    assert files and [file for file in files if not Path(ROOT, file).is_file()] == []


def test_commands_are_translated_for_other_shells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    import shell_tabs

    block = "geodomain label a.csv --solid 'A B=b.ply' \\\n    -o c.csv\nhead -n 2 c.csv\n"
    page = shell_tabs.with_tabs(f"```sh\n{block}```\n")
    assert block in page
    assert "--solid 'A B=b.ply' `\n    -o c.csv\nGet-Content c.csv -TotalCount 2\n" in page
    assert '--solid "A B=b.ply" ^\n    -o c.csv\npowershell Get-Content c.csv' in page
    for same in ("geodomain demo demo\n", "gzip -c a.csv | geodomain label - > b.csv\n"):
        assert shell_tabs.with_tabs(f"```sh\n{same}```\n") == f"```sh\n{same}```\n"


def test_no_option_is_cut_at_its_hyphens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    import shell_tabs

    html = '<span class="nv">ORE</span>=a-b.ply<span class="w"> </span>--allow-open -o\n    --solid'
    whole = '<span class="nv">ORE</span>=a-b.ply<span class="w"> </span>'
    whole += '<span class="whole">--allow-open</span> '
    whole += '<span class="whole">-o</span>\n    <span class="whole">--solid</span>'
    assert shell_tabs.keep_whole(html) == whole
    html = '<span class="p">-</span><span class="n">-collar</span>'
    assert shell_tabs.keep_whole(f"geodomain {html} a") == (
        f'geodomain <span class="whole">{html}</span> a'
    )
