"""A hostile file ends a command with one sentence and a documented exit code, soon."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import seeds
from click.testing import CliRunner, Result

import geodomain
from geodomain.cli import main


def ask(path: Path) -> Result:
    """Read a file by the command that is for it."""
    kind = path.suffix
    if kind == ".toml":
        (path.parent / "ore.obj").write_text(seeds.OBJ)
        (path.parent / "in.csv").write_text(seeds.CSV)
        arguments = ["label", str(path.parent / "in.csv"), "--domains", str(path), "--dry-run"]
    elif kind == ".csv" or path.stem == "b":
        arguments = ["inspect", str(path)]
    else:
        arguments = ["check", str(path)]
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("seed", {**seeds.BAD, **seeds.BAD_VTK})
def test_a_bad_file_is_refused_in_one_sentence(seed: str, tmp_path: Path) -> None:
    name, text = {**seeds.BAD, **seeds.BAD_VTK}[seed]
    path = tmp_path / name
    path.write_bytes(text.encode())
    result = ask(path)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 3, result.output
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and len(errors[0]) < 500
    assert "Traceback" not in result.output


@pytest.mark.parametrize(("name", "text"), [("a.obj", seeds.OBJ), ("a.off", seeds.OFF)])
def test_a_good_file_is_not(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert ask(tmp_path / name).exit_code == 0


@pytest.mark.full
def test_large_files_are_read_soon(tmp_path: Path) -> None:
    """Both once took the square of their size: minutes of these."""
    (tmp_path / "a.obj").write_text(seeds.polygon(20_000))
    assert len(geodomain.read_mesh(tmp_path / "a.obj").triangles) == 19_998
    (tmp_path / "ore.obj").write_text(seeds.OBJ)
    (tmp_path / "a.toml").write_text(seeds.many_solids(2000))
    (tmp_path / "in.csv").write_text("x,y,z\n0.9,0.9,0.9\n0.1,9,9\n")
    listed = ["--domains", str(tmp_path / "a.toml"), "--dry-run"]
    assert CliRunner().invoke(main, ["label", str(tmp_path / "in.csv"), *listed]).exit_code == 0


@pytest.mark.parametrize("text", [seeds.PLY, seeds.vtp(), seeds.vtu(), seeds.CSV, seeds.TOML])
def test_what_seeds_are_made_of_is_good(text: str, tmp_path: Path) -> None:
    first = text.split("\n", 1)[0]
    kinds = {"ply": "a.ply", "[[domain]]": "a.toml", seeds.CSV.split("\n", 1)[0]: "a.csv"}
    name = kinds.get(first, "b.vtu" if "Unstructured" in text else "a.vtp")
    (tmp_path / name).write_text(text)
    result = ask(tmp_path / name)
    assert result.exit_code == (3 if name == "a.vtp" else 0), result.output  # a triangle is open
    assert "error:" not in result.output


def landxml(inner: str) -> str:
    return f"<LandXML><Surfaces><Surface name='a'/>{inner}</Surfaces></LandXML>"


CROWDED = "has 600,000 corners, and 200,000 of them are at one point: this is not a polygon"
POINTS = "<Pnts>" + "".join(f"<P id='{n}'>{n} {n * n} 0</P>" for n in (1, 2, 3)) + "</Pnts>"
COSTLY = {
    "a face of an OBJ": ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + "1 2 3 " * 200_000, CROWDED),
    "a face of LandXML": (
        "a.xml",
        landxml(f"<Surface>{POINTS}<Faces><F>{'1 2 3 ' * 200_000}</F></Faces></Surface>"),
        CROWDED,
    ),
    "elements of LandXML": (
        "a.xml",
        landxml("<a>" * 300_000),
        "a.xml nests elements more than 1,000 deep",
    ),
}


@pytest.mark.parametrize("kind", COSTLY)
def test_what_costs_the_square_of_a_file_is_refused(kind: str, tmp_path: Path) -> None:
    """Hours of the first two, and the square of the depth of the last."""
    name, text, sentence = COSTLY[kind]
    (tmp_path / name).write_text(text)
    result = ask(tmp_path / name)
    assert result.exit_code == 3 and sentence in result.stderr
    assert result.stderr.count("error: ") == 1


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_a_device_is_not_read() -> None:
    for arguments in (["check", "/dev/zero"], ["label", "a.csv", "--domains", "/dev/zero"]):
        result = CliRunner().invoke(main, [*arguments, *(["--dry-run"] * (len(arguments) > 2))])
        assert result.exit_code == 4, result.output
        assert "it is a device, not a file" in result.stderr


def test_what_the_system_has_not_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain.formats import wireframes

    for error, said in (
        (MemoryError(), "not enough memory"),
        (ImportError("a.so: failed to map segment from shared object"), "not enough memory"),
        (RuntimeError("can't start new thread"), "--threads"),
    ):

        def refuse(path: Path, error: Exception = error) -> bytes:
            raise error

        monkeypatch.setattr(wireframes, "read_whole", refuse)
        result = CliRunner().invoke(main, ["check", str(tmp_path / "a.obj")])
        assert result.exit_code == 4 and said in result.stderr
        assert result.stderr.count("error: ") == 1


def test_a_thread_that_does_not_start_is_no_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice a process near its limit waited for ever for a thread that was not there."""
    monkeypatch.chdir(tmp_path)
    Path("ore.obj").write_text(seeds.OBJ)
    Path("in.csv").write_text(seeds.CSV)
    arguments = ["label", "in.csv", "--solid", "ORE=ore.obj", "-o", "out.csv"]
    start, left = threading.Thread.start, 0

    def begin(self: threading.Thread) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            message = "can't start new thread"
            raise RuntimeError(message)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", begin)
    for number in range(1, 20):
        left = number
        result = CliRunner().invoke(main, arguments)
        if left > 0:
            break
        assert result.exit_code == 4 and "--threads" in result.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "ore.obj"]
    assert number > 1 and result.exit_code == 0 and Path("out.csv").exists()


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", " \n"])
def test_lines_without_end_after_the_rows_are_passed_over(end: str, tmp_path: Path) -> None:
    """Each once copied all that followed it."""
    (tmp_path / "a.csv").write_bytes((seeds.CSV + end * 300_000).encode())
    result = ask(tmp_path / "a.csv")
    assert result.exit_code == 0 and "volume             2\n" in result.output
