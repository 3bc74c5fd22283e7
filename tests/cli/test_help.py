"""Finding one's way: sections of help, topics, suggestions, completion, errors as JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import Result
from label_command import run_command
from wireframes import box

from geodomain.cli import main
from geodomain.cli.help import SECTIONS, TOPICS, Sectioned
from geodomain.cli.options import WholeWords, named_paths, paths_from
from geodomain.formats.wireframes import write_mesh

DOCS = Path(__file__).parents[2] / "docs"


def run(*arguments: str, code: int = 0) -> Result:
    return run_command(*arguments, code=code)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a table and a wireframe."""
    monkeypatch.chdir(tmp_path)
    write_mesh(box((0, 0, 0), (10, 10, 10)), tmp_path / "ore.obj")
    (tmp_path / "b.csv").write_text("X,Y,Z\n5,5,5\n")
    (tmp_path / "oremodel").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", ["label", "flag", "plot", "report"])
def test_help_lists_each_option_once_in_a_section(name: str) -> None:
    context = click.Context(main)
    command = main.get_command(context, name)
    assert isinstance(command, Sectioned)
    text = run(name, "-h").stdout
    text = text[text.index("Domains:") :]
    options = [one for one in command.params if isinstance(one, click.Option)]
    for option in options:
        found = re.findall(rf"^  (?:-\w, )?{option.opts[-1]}\b(?!-)", text, re.MULTILINE)
        assert len(found) <= 1
    assert text.index("Domains:") < text.index("Output:") < text.index("Columns and text:")
    if name == "label":
        known = {each for names in SECTIONS.values() for each in names}
        assert {option.name for option in options} <= known
        assert text.split("Other options:")[1].strip().startswith("-h, --help")


def test_every_name_in_a_section_is_an_option_of_some_command() -> None:
    context = click.Context(main)
    commands = [main.get_command(context, name) for name in ("label", "flag", "plot", "report")]
    known = {option.name for command in commands if command for option in command.params}
    assert {each for names in SECTIONS.values() for each in names} <= known
    listed = [each for names in SECTIONS.values() for each in names]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_names_a_page_that_is_there(topic: str) -> None:
    said, page = TOPICS[topic]
    assert (DOCS / f"{page}.md").is_file()
    out = run("help", topic.upper()).stdout
    assert said in out and out.rstrip().endswith(f"{page}.html")


def test_help_of_commands_and_the_list_of_topics() -> None:
    assert run("help", "label").stdout == run("label", "-h").stdout
    listed = run("help").stdout
    assert all(re.search(rf"^  {topic} ", listed, re.MULTILINE) for topic in TOPICS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("labl",), "there is no command 'labl'; did you mean 'label'?"),
        (("Plott", "x.csv"), "did you mean 'plot'?"),
        (("xyzzy",), "there is no command 'xyzzy'\n"),
        (("help", "rotatoin"), "there is no topic 'rotatoin'; did you mean 'rotation'?"),
        (("help", "chek"), "did you mean 'check'?"),
    ],
)
def test_what_may_have_been_meant(arguments: tuple[str, ...], words: str) -> None:
    assert words in run(*arguments, code=2).stderr


def test_the_version_by_its_letter() -> None:
    assert run("-V").stdout == run("--version").stdout != ""


def test_paths_complete_after_a_name(folder: Path) -> None:
    assert paths_from("or") == ["ore.obj", "oremodel/"]
    assert paths_from("./or") == ["./ore.obj", "./oremodel/"]
    assert paths_from("nil/") == [] and paths_from("zz") == []
    context, option = click.Context(main), click.Option(["--solid"])
    for start, found in (("ORE=ore.", ["ORE=ore.obj"]), ("ore.", ["ore.obj"])):
        assert named_paths(context, option, start) == found


def test_bash_takes_a_name_and_its_path_for_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = WholeWords(main, {}, "geodomain", "_GEODOMAIN_COMPLETE")
    for words, at, expected in (
        ("label b.csv --solid ORE = or", 6, (["label", "b.csv", "--solid"], "ORE=or")),
        ("label b.csv --solid ORE =", 5, (["label", "b.csv", "--solid"], "ORE=")),
        (
            "label b.csv --solid A = a.obj --so",
            7,
            (["label", "b.csv", "--solid", "A=a.obj"], "--so"),
        ),
        ("la", 1, ([], "la")),
    ):
        monkeypatch.setenv("COMP_WORDS", f"geodomain {words}")
        monkeypatch.setenv("COMP_CWORD", str(at))
        assert shell.get_completion_args() == expected


def test_completion_runs(folder: Path) -> None:
    command = [sys.executable, "-m", "geodomain"]
    words = {"_GEODOMAIN_COMPLETE": "bash_complete", "COMP_CWORD": "6"}
    words["COMP_WORDS"] = "geodomain label b.csv --solid ORE = or"
    done = subprocess.run(command, env=os.environ | words, capture_output=True, text=True)
    assert done.stdout.split() == ["plain,ore.obj", "plain,oremodel/"]


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (("label", "no.csv", "--solid", "A=ore.obj", "-o", "x.csv"), "input or output", 4),
        (("label", "b.csv", "--solid", "A=b.csv", "-o", "x.csv"), "bad input", 3),
        (("label", "b.csv", "-o", "x.csv", "--rule", "none"), "usage", 2),
        (("check", "no.obj"), "input or output", 4),
        (("inspect", "ore.obj"), "bad input", 3),
    ],
)
def test_errors_are_json_where_json_is_asked_for(
    folder: Path, arguments: tuple[str, ...], kind: str, code: int
) -> None:
    plain = run(*arguments, code=code)
    result = run(*arguments, "--json", code=code)
    error = json.loads(result.stdout)["error"]
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert error["message"] in result.stderr and result.stderr == plain.stderr
    assert plain.stdout == ""


def test_there_is_one_document_of_json(folder: Path) -> None:
    done = run("check", "ore.obj", "no.obj", "--json", code=4)
    assert json.loads(done.stdout)[0]["fit"] is True
    done = run("label", "no.csv", "--solid", "A=ore.obj", "-o", "-", "--json", code=4)
    assert done.stdout == "" and '"exit_code": 4' in done.stderr
