"""Keywords in messages of the library are options in those of a command."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from wireframes import box

import geodomain
from geodomain.cli import main
from geodomain.cli.console import as_options, keywords
from geodomain.formats.wireframes import write_mesh

PACKAGE = Path(__file__).parents[2] / "geodomain"

SAID = {
    "name them with x=, y= and z=.": "name them with --x, --y and --z.",
    "or use backend='cpu'": "or use --backend cpu",
    "label with allow_open=True.": "label with --allow-open.",
    "write names, without codes=True, or": "write names, without --codes, or",
    "say so with missing='-'.": "say so with --missing=-.",
    "say so with missing='not a number'.": "say so with --missing 'not a number'.",
    r"say so with missing='it\'s'.": "say so with --missing " + shlex.quote("it's") + ".",
    "rewrite it with column='AU', replace=True.": "rewrite it with --column AU --replace-column.",
    "start=('X', 'Y', 'Z') and end=('A B', 'C', 'D')": "--start X Y Z and --end 'A B' C D",
    "give it as domains={'NAME': 'PATH'}": "give it as --solid NAME=PATH",
    "(rotation='z=30', origin='1,2,3', local_origin='0,0,0')": (
        "(--rotation z=30 --origin 1,2,3 --local-origin 0,0,0)"
    ),
    "close it with geodomain.weld('ore.stl', 0.001), or": (
        "close it with 'geodomain check ore.stl --weld 0.001 -o closed.stl', or"
    ),
    "geodomain.weld('a b.dxf', 0.02)": "'geodomain check \"a b.dxf\" --weld 0.02 -o closed.ply'",
    # What the user wrote stays as it is.
    "turned by z=30.5; 'x=' is a column, extend = 'nearest', section z=310": None,
    "geodomain.weld(mesh, 0.001)": None,
}


@pytest.mark.parametrize("message", SAID)
def test_a_message_of_the_library_names_options(message: str) -> None:
    assert as_options(message) == (SAID[message] or message)


def texts_of_the_library() -> list[tuple[str, str]]:
    """List the texts in the library's code with their files, but for docstrings and reprs."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        others = {id(part) for node in ast.walk(tree) for part in _no_message(node)}
        found += [
            (path.name, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in others
        ]
    return found


def _no_message(node: ast.AST) -> Iterable[ast.AST]:
    """Give the parts of a node that are no message: a text alone, and all of a repr."""
    if isinstance(node, ast.FunctionDef) and node.name == "__repr__":
        return ast.walk(node)
    return [node.value] if isinstance(node, ast.Expr) else []


@pytest.mark.full
def test_the_library_does_not_speak_of_options() -> None:
    option = re.compile(r"(^|[\s'(])--[a-z]")
    tools = {
        "__main__.py": {"--version"},
        "kernels.py": {"--fmad=false"},
        "native.py": {"--force-reinstall"},
    }
    said = [
        (name, text)
        for name, text in texts_of_the_library()
        if option.search(text) and not any(flag in text for flag in tools.get(name, ()))
    ]
    assert said == []


@pytest.mark.full
def test_every_keyword_that_a_message_names_has_an_option() -> None:
    keyword = re.compile(r"(?<![\w.\"'=-])([a-z_]+)=(?=$|[\s,;.)'])")
    said = {
        (name, found)
        for name, text in texts_of_the_library()
        if " " in text
        for found in keyword.findall(text)
    }
    # The functions whose messages these are have no command.
    said -= {("shares.py", "backend"), ("distance.py", "backend")}
    said -= {("contains.py", "direction"), ("locator.py", "out"), ("lattice.py", "out")}
    said -= {("gpus.py", "out")}
    said -= {("inputs.py", keyword) for keyword in ("like", "packed", "out")}
    said -= {("implicit.py", "as_stack")}
    said -= {("surfaces.py", "extend")}  # a key of domains.toml
    assert {found for _, found in said} - keywords().keys() == set()
    assert ("layout.py", "dx") in said


def commands_of(group: click.Command) -> Iterable[click.Command]:
    """Yield all commands of a group and of the groups in it."""
    yield group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands_of(command)


def test_every_option_is_one_of_a_command() -> None:
    options = {
        option for command in commands_of(main) for each in command.params for option in each.opts
    }
    assert set(keywords().values()) - options == set()


def test_a_user_of_python_is_told_the_keyword_and_one_of_the_command_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_mesh(box((0, 0, 0), (1, 1, 1)), tmp_path / "ore.obj")
    Path("blocks.csv").write_text("A,B,C\n1,1,1\n")
    with pytest.raises(geodomain.TableError, match=r"Name the three columns with x=, y= and z=\.$"):
        geodomain.label_file("blocks.csv", {"ORE": "ore.obj"}, "out.csv")
    asked = ["label", "blocks.csv", "--solid", "ORE=ore.obj", "-o", "out.csv"]
    told = CliRunner().invoke(main, asked)
    assert told.stderr.rstrip().endswith("Name the three columns with --x, --y and --z.")


def test_warnings_of_a_command_and_its_json_name_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_mesh(box((0, 0, 0), (1, 1, 1)), tmp_path / "ore.obj")
    Path("blocks.csv").write_text("X,Y,Z,DX,DY,DZ\n1,1,1,0,1,1\n")
    with pytest.warns(geodomain.GeodomainWarning, match="other size columns with dx=, dy= and"):
        geodomain.label_file("blocks.csv", {"ORE": "ore.obj"}, None)
    told = CliRunner().invoke(
        main, ["label", "blocks.csv", "--solid", "ORE=ore.obj", "--dry-run", "--json"]
    )
    assert "name other size columns with --dx, --dy and --dz" in told.stdout
    assert "name other size columns with --dx, --dy and --dz" in told.stderr
    assert "dx=" not in told.output


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_command_has_a_short_option_for_help(name: str) -> None:
    short, long = (CliRunner().invoke(main, [name, flag]) for flag in ("-h", "--help"))
    assert short.exit_code == 0 and short.output == long.output
    assert "Example" in short.output


def test_every_value_in_a_message_is_filled_in() -> None:
    """A part of a joined text that has lost its f shows the reader code in braces."""
    code = re.compile(r"\{[a-z_][\w.]*(\([^{}]*\))?(![rs])?(:[^{}]*)?\}")
    shown = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
        parts = [part for node in joined for part in node.values if isinstance(part, ast.Constant)]
        shown += [(path.name, part.value) for part in parts if code.search(part.value)]
    assert shown == []
