"""Let runs meet: several processes label one output, one file in place, or one dataset.

python tests/fuzz/runs.py [--cases 100 | --seconds 60 | --case 7] [--seed 1] [--kind new]

Some of them are killed, and the input may change meanwhile. Whatever happens, the outcome is the
old file or the whole output of one run, and each exit code tells the truth. A case is made from its
number alone; moments are of the clock, so that a fault may need several tries.
"""

from __future__ import annotations

import fcntl
import importlib
import io
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parent))
from campaign import Case, campaign
from wireframes import cube

import geodomain
from geodomain.cli import main as command

HEAD = "X,Y,Z\n"
BODY = "".join(f"{x / 100:.2f},1.5,1.5\n" for x in range(1, 2000))
GROWN = BODY + "5.55,1.5,1.5\n"
PARTS = [f"bench={n}/part.csv" for n in range(5)]
KINDS = ("new", "overwrite", "in place", "dataset", "dataset, overwrite", "dataset, take over")
LOADED = ("labelling.files", "datasets.labelling", "formats.text", "cli.labelling", "compute.cpu")
WELL, KILLED = 0, {-signal.SIGKILL, 128 + signal.SIGINT, 128 + signal.SIGTERM}


def labelled(text: str, *jobs: int) -> str:
    """Return a table with the columns of some jobs, by comparing coordinates."""
    lines = text.splitlines()
    for job in jobs:
        lines[0] += f",d{job}"
        lines[1:] = [
            f"{row},{'ORE' if float(row.split(',')[0]) < 10 else job}" for row in lines[1:]
        ]
    return "\n".join(lines) + "\n"


def words_of(model: str, job: int) -> list[str]:
    """Return the command of a job, but for where its output goes."""
    own = ["--column", f"d{job}", "--background", str(job)]
    return ["label", model, "--solid", "ORE=ore.ply", *own]


def run(words: list[str]) -> int:
    """Run a command in a child; return its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda number, _: sys.exit(128 + number))
        command(words, prog_name="geodomain")
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        os._exit(code)


def append(path: Path) -> None:
    """Add a row as a careful program does: to the file that has the name, and not to its past."""
    while True:
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                continue
            columns = path.read_text().splitlines()[0].count(",") - 2
            file.write(GROWN[len(BODY) :].rstrip("\n") + ",ORE" * columns + "\n")
            return


def together(dice: random.Random, jobs: list[list[str]], change: Path | None) -> list[int]:
    """Run all jobs at about one time, kill some, perhaps change a file; return the exit codes."""
    events: list[tuple[float, int, object]] = []
    for number, words in enumerate(jobs):
        events.append((dice.uniform(0, 0.05), number, words))
        if dice.random() < 0.3:
            how = dice.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
            events.append((dice.uniform(0.01, 0.4), number, how))
    if change is not None:
        events.append((dice.uniform(0, 0.3), -1, change))
    began, children = time.monotonic(), dict[int, int]()
    for moment, number, what in sorted(events, key=lambda event: event[0]):
        time.sleep(max(0.0, began + moment - time.monotonic()))
        if isinstance(what, Path):
            append(what)
        elif isinstance(what, list):
            children[number] = run(what)
        elif isinstance(what, int) and number in children:
            os.kill(children[number], what)  # not waited for yet, so that the number is its own
    return [os.waitstatus_to_exitcode(os.waitpid(children[n], 0)[1]) for n in sorted(children)]


def require(right: bool, what: str) -> None:
    """Raise for an outcome that must not be."""
    if not right:
        raise AssertionError(what)


def meet_at_a_file(dice: random.Random, kind: str) -> list[int]:
    """Label one model by several runs into one file."""
    model, out = Path("b.csv"), Path("b.csv" if kind == "in place" else "out.csv")
    model.write_text(HEAD + BODY)
    if kind == "overwrite":
        out.write_text("old")
    where = {"in place": ["--in-place"], "new": ["-o", "out.csv"]}
    where["overwrite"] = [*where["new"], "--overwrite"]
    jobs = [[*words_of("b.csv", number), *where[kind]] for number in range(dice.choice((2, 3)))]
    change = model if dice.random() < 0.4 else None
    codes = together(dice, jobs, change)
    text = out.read_text() if out.exists() else None
    if kind == "in place":
        in_place(text or "", codes, grown=change is not None)
        return codes
    owners = [n for n in range(len(jobs)) for t in (BODY, GROWN) if text == labelled(HEAD + t, n)]
    old = "old" if kind == "overwrite" else None
    require(bool(owners) or text == old, "the output is neither old nor of one run")
    well = [n for n, code in enumerate(codes) if code == WELL]
    require(not well or text != old, "a run that says it is done has written nothing")
    require(all(codes[n] == WELL or codes[n] in KILLED for n in owners), "a failed run has written")
    require(kind != "new" or len(well) <= 1, "two runs say that they have written a new file")
    require(kind != "new" or not well or owners == well, "the output is another run's")
    return codes


def in_place(text: str, codes: list[int], *, grown: bool) -> None:
    """Require the columns of all runs that ended well, and the row that was added."""
    names = text.splitlines()[0].split(",")[3:]
    done = {f"d{n}" for n, code in enumerate(codes) if code == WELL}
    killed = {f"d{n}" for n, code in enumerate(codes) if code in KILLED}
    require(done <= set(names) <= done | killed, f"columns {names} for {codes}")
    require(len(names) == len(set(names)), "a column is there twice")
    plain = "".join(",".join(row.split(",")[:3]) + "\n" for row in text.splitlines())
    require(plain == HEAD + (GROWN if grown else BODY), "rows are lost, or there twice")
    columns = zip(*(row.split(",")[3:] for row in text.splitlines()[1:]), strict=True)
    for name, cells in zip(names, columns, strict=True):
        want = [r.rpartition(",")[2] for r in labelled(plain, int(name[1:])).splitlines()[1:]]
        require(list(cells) == want, f"labels of {name}")


def meet_at_a_dataset(dice: random.Random, kind: str) -> list[int]:
    """Label one dataset by several runs, of one job or of two, into one folder."""
    rows = BODY.splitlines(keepends=True)
    tables = {}
    for n, name in enumerate(PARTS):
        tables[name] = HEAD + "".join(rows[n :: len(PARTS)])
        Path("blocks", name).parent.mkdir(parents=True, exist_ok=True)
        Path("blocks", name).write_text(tables[name])
    owners = [dice.randrange(2) for _ in range(dice.choice((2, 3)))]
    extra = [] if kind == "dataset" else ["--overwrite"]
    jobs = [[*words_of("blocks", number), "-o", "out", *extra] for number in owners]
    for words in jobs:
        if kind == "dataset, take over" and dice.random() < 0.7:
            words.append("--take-over")
    codes = together(dice, jobs, None)
    there = {name: Path("out", name).read_text() for name in PARTS if Path("out", name).exists()}
    whose = {n for n in set(owners) for name in there if there[name] == labelled(tables[name], n)}
    for name, text in there.items():
        known = [labelled(tables[name], number) for number in set(owners)]
        require(text in known, f"{name} is no run's")
    require(len(whose) <= 1, f"parts of two jobs, {codes}")
    well = {owners[n] for n, code in enumerate(codes) if code == WELL}
    if well and not KILLED & set(codes):
        require(len(there) == len(PARTS), f"parts are missing, {codes}")
    if kind == "dataset":
        require(not well or (whose == well and len(there) == len(PARTS)), f"not what {codes} say")
    # Whoever comes next, by proof or by word, has the output whole.
    last = run([*jobs[0], "--overwrite", "--take-over"])
    code = os.waitstatus_to_exitcode(os.waitpid(last, 0)[1])
    same = all(Path("out", n).read_text() == labelled(tables[n], owners[0]) for n in PARTS)
    require(code == WELL and same, f"the next run ends with {code}")
    return codes


def outcomes(case: Case, folder: Path) -> list[str]:
    """Let runs meet in a folder of their own, which is kept where a rule is broken."""
    dice = random.Random(str(case))
    place = folder / str(case.number)
    place.mkdir()
    os.chdir(place)
    geodomain.write_mesh(cube(), "ore.ply")
    kind = dice.choice(KINDS)
    kind = case.kind or kind
    codes = (meet_at_a_dataset if "data" in kind else meet_at_a_file)(dice, kind)
    require(set(codes) <= {0, 3, 4} | KILLED, f"exit codes {codes}")
    os.chdir(folder)
    shutil.rmtree(place)
    return [f"{kind}: {code}" for code in codes]


def main() -> int:
    """Run the cases that the command line asks for; 1 if there was a fault."""
    for module in LOADED:  # children that have all modules meet sooner
        importlib.import_module(f"geodomain.{module}")
    folder = Path(tempfile.mkdtemp(prefix="geodomain-fuzz-"))
    sys.stderr.write(f"folders of faults are kept in {folder}\n")
    return campaign(__doc__, partial(outcomes, folder=folder), kinds=KINDS)


if __name__ == "__main__":
    raise SystemExit(main())
