"""A setting is declared once: keyword, docstring, option, key, record and hash follow from it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Unpack, get_args, get_type_hints

import click
import pytest
from click.testing import CliRunner

import geodomain
from geodomain.cli.console import keywords
from geodomain.cli.drillholes import composite, contacts, crossings, flag
from geodomain.cli.labelling import label
from geodomain.cli.models import inspect as inspect_command
from geodomain.cli.models import subblock
from geodomain.cli.options import settings_options
from geodomain.cli.pictures import plot, report
from geodomain.datasets.jobs import describe_job, hash_of
from geodomain.datasets.stores import LocalStore
from geodomain.domains.defaults import LabelDefaults
from geodomain.drillholes.settings import HoleKeywords, HoleSettings
from geodomain.labelling import settings as module
from geodomain.labelling.labeller import prepare
from geodomain.labelling.settings import FileKeywords, LabelSettings
from geodomain.settings import (
    FLAG,
    hashed_values,
    key,
    keys_of,
    read_keywords,
    recorded,
    require_values,
    setting,
    with_keywords,
)
from geodomain.statistics.settings import ContactFileKeywords, ContactKeywords, ContactSettings
from geodomain.tables.options import table_options
from geodomain.tables.settings import TableKeywords, TableSettings

ORE = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]],
                     [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])  # fmt: skip
FUNCTIONS = (
    geodomain.label_file,
    geodomain.label_dataset,
    geodomain.label_points,
    geodomain.label_blocks,
    geodomain.label_grid,
    geodomain.label_lattice,
    geodomain.subblock_file,
    geodomain.flag_file,
    geodomain.flag,
)
# A value of each setting that is not its default; `leaky` needs another setting.
OTHERS = {
    "column": "zone", "background": "REST", "unassigned": "LOST", "leaky": "LEAK", "weld": 0.5,
    "rule": "winding", "proportions": "priority", "by": "majority", "lines": 4,
    "backend": "cpu", "threads": 1,
}  # fmt: skip


@pytest.mark.parametrize("entry", fields(LabelSettings), ids=lambda entry: entry.name)
def test_every_setting_has_every_face(entry: Field[object]) -> None:
    """A field that is forgotten somewhere, or without help or a word on the hash, fails here."""
    assert entry.metadata["help"] and isinstance(entry.metadata["hashed"], bool)
    keyword = inspect.signature(geodomain.label_file).parameters[entry.name]
    assert (keyword.kind, keyword.default) == (keyword.KEYWORD_ONLY, entry.default)
    assert entry.default is not MISSING and keyword.annotation == entry.type
    assert f"\n{entry.name} : " in str(inspect.getdoc(geodomain.label_file))
    assert FileKeywords.__annotations__[entry.name].__forward_arg__ == entry.type
    if entry.metadata["option"]:
        option = next(each for each in label.params if each.name == entry.name)
        assert isinstance(option, click.Option) and option.default == entry.default
        assert option.is_flag == (entry.metadata["values"].kind is bool)
        assert "=" not in option.help.replace("N=", "")


def test_typed_keywords_are_those_of_the_fields() -> None:
    """The TypedDicts, for a type checker, and the fields, for everything else."""
    known = {entry.name: entry.type for entry in fields(LabelSettings)}
    kinds = [kind for kind in vars(module).values() if hasattr(kind, "__total__")]
    typed = {name: str(hint.__forward_arg__) for kind in kinds
             for name, hint in vars(kind)["__annotations__"].items()}  # fmt: skip
    table = {name for kind in ("NumberKeywords", "TableKeywords")
             for name in getattr(module, kind).__annotations__}  # fmt: skip
    assert {name: typed[name] for name in typed if name not in table} == known


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_reader_sees_every_keyword(function: Callable[..., object]) -> None:
    """Signature and docstring; nothing of the mechanism is left in them."""
    known = {entry.name for entry in fields(LabelSettings)}
    names = inspect.signature(function).parameters
    assert len(known & set(names)) >= 6
    assert "**settings" not in str(function.__doc__)
    for name in known & set(names):
        assert name in str(function.__doc__).partition("Returns")[0]


@pytest.mark.parametrize("command", [label, flag, subblock], ids=lambda command: command.name)
def test_help_names_options_not_keywords(command: click.Command) -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    assert "With --allow-open: label for rows above or below a gap" in " ".join(text.split())


def job(asked: LabelSettings, table: TableSettings | None = None) -> str:
    """Return the hash of a job with some settings."""
    ready = prepare({"ORE": ORE}, asked)
    return hash_of(describe_job(LocalStore(Path("blocks")), ready, table or TableSettings()))


@pytest.mark.parametrize("entry", fields(LabelSettings), ids=lambda entry: entry.name)
def test_a_setting_is_in_the_hash_if_it_says_so(entry: Field[object]) -> None:
    plain = LabelSettings(allow_open=entry.name != "allow_open", proportions=(
        "itself" if entry.name in ("percent", "lines") else None))  # fmt: skip
    other = OTHERS.get(entry.name, not getattr(plain, entry.name))
    changed = job(replace(plain, **{entry.name: other})) != job(plain)
    # Welding changes the meshes, whose hashes the job has: this mesh has no vertices so near.
    assert changed == entry.metadata["hashed"]


TABLE = {
    "position": "corner", "encoding": "latin-1", "missing": -99, "below_detection": "half",
    "detection_limit": {"AU": 0.1}, "gslib_grid": "1,1,1,0,0,0,1,1,1", "delimiter": ";",
    "decimal": ",", "dx": 5,
}  # fmt: skip
# These go together.
TURNED = {"rotation": "z=30", "origin": (1, 2, 3)}


@pytest.mark.parametrize("entry", fields(TableSettings), ids=lambda entry: entry.name)
def test_every_word_about_a_table_has_every_face(entry: Field[object]) -> None:
    assert TableKeywords.__annotations__[entry.name].__forward_arg__ == entry.type
    option = next(each for each in label.params if each.name == entry.name)
    assert isinstance(option, click.Option) and option.help
    plain: dict[str, object] = {}
    if entry.name in ("rotation", "origin", "local_origin"):
        plain = TURNED
    other = {"frame": "z=20", "rotation": "z=20", "origin": (4, 5, 6), "local_origin": "1,1,1",
             "points_are_middles": True}.get(entry.name, TABLE.get(entry.name, "EAST"))  # fmt: skip
    said = plain | {entry.name: other}
    assert table_options(**said) != table_options(**plain)  # type: ignore[arg-type]
    asked = LabelSettings()
    changed = job(asked, TableSettings(**said)) != job(asked, TableSettings(**plain))  # type: ignore[arg-type]
    assert changed == entry.metadata["hashed"]


@pytest.mark.parametrize("entry", fields(HoleSettings), ids=lambda entry: entry.name)
def test_every_setting_of_holes_has_every_face(entry: Field[object]) -> None:
    """Keyword, type and docstring of each function, option of each command, name in messages."""
    assert entry.metadata["help"] and isinstance(entry.metadata["hashed"], bool)
    assert HoleKeywords.__annotations__[entry.name].__forward_arg__ == entry.type
    for function in (geodomain.Drillholes, geodomain.flag_file, geodomain.composite_file,
                     geodomain.crossings_file, geodomain.contacts_file):  # fmt: skip
        keyword = inspect.signature(function).parameters[entry.name]
        assert (keyword.kind, keyword.default) == (keyword.KEYWORD_ONLY, entry.default)
        assert f"\n{entry.name} : " in str(inspect.getdoc(function))
    for command in (flag, composite, crossings, contacts, inspect_command, plot, report):
        option = next(each for each in command.params if each.name == entry.name)
        assert isinstance(option, click.Option) and option.help
        assert keywords()[entry.name] == option.opts[0]


@pytest.mark.parametrize("entry", fields(ContactSettings), ids=lambda entry: entry.name)
def test_every_setting_of_contacts_has_every_face(entry: Field[object]) -> None:
    for function, typed in (
        (geodomain.contacts, ContactKeywords),
        (geodomain.contacts_file, ContactFileKeywords),
    ):
        assert typed.__annotations__[entry.name].__forward_arg__ == entry.type
        keyword = inspect.signature(function).parameters[entry.name]
        assert (keyword.kind, keyword.default) == (keyword.KEYWORD_ONLY, entry.default)
        assert f"\n{entry.name} : " in str(inspect.getdoc(function))
    option = next(each for each in contacts.params if each.name == entry.name)
    assert keywords()[entry.name] == option.opts[0]


def test_options_of_holes_are_taken_by_the_functions() -> None:
    """What an option gives is what the keyword takes, its default too."""

    @click.command()
    @settings_options(HoleSettings)
    def command(**given: object) -> None:
        assert HoleSettings(**given) == HoleSettings(columns={"dip": "INCL"}, **asked)  # type: ignore[arg-type]

    asked: dict[str, object] = {}
    runner = CliRunner()
    words = ["--hole-column", "dip=INCL"]
    assert runner.invoke(command, words).exit_code == 0
    asked |= {"method": "minimum curvature", "down": "negative", "bend": "20,30", "strict": True,
              "accept": ("hole-bend:A", "dip-sign")}  # fmt: skip
    words += ["--desurvey", "minimum-curvature", "--dip-down", "negative", "--bend", "20,30",
              "--strict", "--accept", "hole-bend:A", "--accept", "dip-sign"]  # fmt: skip
    done = runner.invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert HoleSettings(bend="20,30").largest_bend == (20.0, 30.0)
    for wrong in ({"method": "circles"}, {"down": "left"}, {"bend": "20"}, {"bend": (0, 30)}):
        with pytest.raises(ValueError, match=r"it must be one of|is not ANGLE,LENGTH"):
            HoleSettings(**wrong)  # type: ignore[arg-type]


def test_the_same_said_otherwise_is_the_same_job() -> None:
    asked = LabelSettings()
    one, other = TableSettings(missing=-99, dx=5), TableSettings(missing=("-99",), dx="5")
    assert job(asked, one) == job(asked, other) != job(asked)


# --- One setting more, as a user of the mechanism would add it.


@dataclass(frozen=True, kw_only=True)
class Louder(LabelSettings):
    """The settings, and an imaginary one."""

    loud: bool = setting(False, FLAG, "Say it twice; see by= for once.", hashed=True)


class LouderKeywords(FileKeywords, total=False):
    """The keywords of `label_file`, and that of the imaginary setting."""

    loud: bool


@with_keywords(Louder, LouderKeywords)
def shout(model: str, **keywords: Unpack[LouderKeywords]) -> tuple[Louder, dict[str, object]]:
    """Say something.

    Parameters
    ----------
    model : str
        The words.
    **settings

    Returns
    -------
    Louder
    """
    arguments = recorded(Louder, LouderKeywords, locals(), keywords)
    return read_keywords(Louder, keywords, LouderKeywords), arguments


def test_a_field_more_is_a_keyword_more() -> None:
    assert inspect.signature(shout).parameters["loud"].default is False
    said = "\nloud : bool\n    Say it twice; see ``by`` for once.\n"
    assert said in str(inspect.getdoc(shout))
    asked, record = shout("hello", loud=True, rule="winding")
    assert (asked.loud, asked.rule, asked.column) == (True, "winding", "domain")
    assert record["loud"] is True and record["model"] == "hello" and record["flags"] is False
    assert json.dumps(record)
    with pytest.raises(TypeError, match="there is no keyword 'lod'; did you mean 'loud'"):
        shout("hello", lod=True)  # type: ignore[call-arg]


def test_a_field_more_is_an_option_more() -> None:
    @click.command()
    @settings_options(Louder)
    def command(**given: object) -> None:
        click.echo(json.dumps(given))

    runner = CliRunner()
    assert "--loud" in runner.invoke(command, ["--help"]).output
    assert "Say it twice; see --by for once." in runner.invoke(command, ["--help"]).output
    assert json.loads(runner.invoke(command, ["--loud"]).output)["loud"] is True
    assert json.loads(runner.invoke(command, []).output)["loud"] is False


def test_a_field_more_is_in_the_hash_if_it_says_so() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Quieter(LabelSettings):
        quiet: bool = setting(False, FLAG, "Say nothing.", hashed=False)

    assert dict(hashed_values(Louder(loud=True)))["loud"] is True
    assert "quiet" not in dict(hashed_values(Quieter(quiet=True)))
    with pytest.raises(TypeError, match="hashed"):
        setting(False, FLAG, "Nobody says whether it changes labels.")  # type: ignore[call-arg]


def test_a_default_more_is_a_key_of_domains_too() -> None:
    """What a function and a list of domains have in common is one field of both."""
    assert fields(LabelDefaults) == fields(geodomain.Domains)[: len(fields(LabelDefaults))]
    for entry in fields(LabelDefaults):
        assert entry.name in keys_of(geodomain.Domains)
        assert entry.default is None and str(entry.type).endswith("| None")

    @dataclass(frozen=True, eq=False, kw_only=True)
    class More(geodomain.Domains):
        loud: bool | None = field(default=None, metadata=key(FLAG, hashed=True, usual=False))

    assert keys_of(More)["loud"].expected == "true or false"
    assert More().loud is False and More(loud=True).loud is True


def test_what_the_caller_says_wins_over_the_domains() -> None:
    domains = geodomain.Domains(by="majority", proportions="itself", percent=True, lines=4)
    assert (domains.by, geodomain.Domains().by, geodomain.Domains().percent) == (
        "majority", "centroid", False,
    )  # fmt: skip
    found = LabelSettings(by="centroid", lines=8).over(domains)
    assert (found.by, found.lines, found.proportions) == ("centroid", 8, "itself")
    assert found.percent is True and LabelSettings(percent=False).over(domains).percent is False
    alone = LabelSettings(samples=True).over(domains)
    assert not alone.measures and alone.line_count == 16


def test_domains_that_contradict_the_caller_are_refused() -> None:
    domains = geodomain.Domains(proportions="itself")
    with pytest.raises(geodomain.DomainError, match="replace=True overwrites one column"):
        LabelSettings(replace=True).over(domains)


def test_values_of_settings_are_checked() -> None:
    for entry in fields(LabelSettings):
        values = entry.metadata["values"]
        if not values.toml_only:
            with pytest.raises(ValueError, match=f"{entry.name} is .*; it must be "):
                LabelSettings(**{entry.name: "nonsense"})
    require_values(LabelSettings())
    hints = get_type_hints(LabelSettings)
    for entry in fields(LabelSettings):
        choices = entry.metadata["values"].choices
        if choices and entry.name != "backend":
            inner = [each for each in (hints[entry.name], *get_args(hints[entry.name]))
                     if get_args(each) == tuple(choices)]  # fmt: skip
            assert inner
