"""The core for pages, in WebAssembly, gives the answers of the native core, bit for bit."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from shapes import (
    UNDECIDABLE,
    cube,
    cube_in_six,
    fan,
    joined,
    minute,
    random_body,
    splinters,
    staircase,
    star,
)
from surfaces import divided_roof, hairline, lidless, reversed_mesh, shuffled, soup, torus

import geodomain
from geodomain import Mesh, reporting
from geodomain.compute import cpu, native
from geodomain.domains.domain import Domain
from geodomain.labelling.labeller import Labeller
from geodomain.synthetic.deposit import deposit
from geodomain.volumes.exact_sums import nearest_float
from geodomain.volumes.tonnage import Tonnage, Wanted

VIEWER = Path(reporting.__file__).parent / "viewer"
CORE = VIEWER / "core.wasm"
HELPER = Path(__file__).parents[1] / "helpers" / "page_core.mjs"
ARRAYS = {
    "Float64Array": np.float64,
    "Int32Array": np.int32,
    "Uint8Array": np.uint8,
    "BigUint64Array": np.uint64,
}
MINE = (2_296_021.1, 7_480_000.7, 1590.0)

Run = Callable[..., dict]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs steps in JavaScript with the core, and returns their results."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH to run the core for pages")
    count = 0

    def call(steps: str, **arrays: np.ndarray) -> dict:
        nonlocal count
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        kinds = {name: array.dtype.name for name, array in arrays.items()}
        (folder / "inputs.json").write_text(json.dumps(kinds))
        for name, array in arrays.items():
            (folder / f"{name}.in").write_bytes(np.ascontiguousarray(array).tobytes())
        text = f"export function steps(core, inputs, page) {{\n{steps}\n}}"
        (folder / "steps.mjs").write_text(text)
        shutil.copy(VIEWER / "src" / "core.js", folder / "core.mjs")
        command = [node, HELPER, CORE, folder]
        subprocess.run(command, check=True)
        results = json.loads((folder / "outputs.json").read_text())
        for name, value in results.items():
            if isinstance(value, dict) and "array" in value:
                raw = (folder / f"{name}.out").read_bytes()
                results[name] = np.frombuffer(raw, ARRAYS[value["array"]])
        return results

    return call


def mesh_inputs(mesh: Mesh) -> dict[str, np.ndarray]:
    return {
        "vertices": np.asarray(mesh.vertices),
        "triangles": np.asarray(mesh.triangles, np.int32),
    }


OPEN = "const mesh = core.openMesh(inputs.vertices, inputs.triangles);"


def tiny_steps() -> Mesh:
    return staircase(random_body((7, 6, 5), 3), (2.5, 2.5, 1.25), MINE)


# Wireframes whose vertices, edges and faces meet vertical lines, that are not closed, or that no
# quick arithmetic decides.
SCENES: dict[str, Callable[[], Mesh]] = {
    "steps on the lattice": lambda: staircase(random_body((6, 5, 7), 1)),
    "steps in a mine": tiny_steps,
    "star": lambda: star(8),
    "star in a mine": lambda: star(6, centre=MINE),
    "tetrahedra that share walls": lambda: joined(*cube_in_six()),
    "fan": lambda: fan(40),
    "splinters": lambda: splinters(60, turn=0.1),
    "very small": minute,
    "torus": torus,
    "torus inside out": lambda: reversed_mesh(torus()),
    "vertices in each triangle": lambda: soup(star(4)),
    "any order": lambda: shuffled(star(5), 1),
    "without a lid": lidless,
    "roof in pieces": divided_roof,
    "a gap of a hair": hairline,
    "twice the same": lambda: joined(cube(4.0), cube(4.0)),
}


def axes_of(mesh: Mesh, most: int = 40) -> list[np.ndarray]:
    """Return axes through all vertices, as far as these are few, and through places between."""
    axes = []
    for axis in range(3):
        values = np.unique(mesh.vertices[:, axis])[:most]
        between = (values[1:] + values[:-1]) / 2
        ends = values[0] - 1.0, values[-1] + 1.0
        axes.append(np.unique(np.concatenate([values, between, ends])))
    return axes


def points_of(mesh: Mesh, count: int = 3000) -> np.ndarray:
    """Return random points, vertices, middles of edges and of triangles, and points under them."""
    low, high = mesh.bounds
    random = np.random.default_rng(5)
    corners = mesh.vertices[mesh.triangles[:500]]
    size = np.maximum(high - low, 1e-300)
    places = [
        low - 0.1 * size + 1.2 * size * random.random((count, 3)),
        corners.reshape(-1, 3),
        (corners[:, 0] + corners[:, 1]) / 2,
        corners.mean(axis=1),
    ]
    under = np.concatenate(places[1:])
    under[:, 2] = low[2] + (high[2] - low[2]) * random.random(len(under))
    far = [[math.nan, 0, 0], [math.inf, 0, 0], [1e300, -1e300, 1e300]]
    points = np.concatenate([*places, under, np.array(far)])
    points[np.abs(points) < 2.0**-306] = 0.0  # so that each can be decided
    return points


def same_bits(ours: np.ndarray, theirs: np.ndarray) -> None:
    theirs = np.ascontiguousarray(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.tobytes() == theirs.tobytes()


def test_the_core_was_built_from_the_sources_of_the_checkout() -> None:
    folder = native.sources()
    assert folder is not None
    spec = importlib.util.spec_from_file_location("build", folder / "web" / "build.py")
    assert spec
    assert spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    built = build.stamp().encode() in CORE.read_bytes()
    assert built, "kernels/ has changed: run 'python kernels/web/build.py'"


def test_the_arithmetic_is_that_of_the_proofs(run: Run) -> None:
    assert run("return { wrong: core.exports.geodomain_canary(1) };")["wrong"] == 0


def test_the_core_needs_nothing_of_the_page_but_the_end_of_a_call(run: Run) -> None:
    steps = "return { pages: Object.values(core.exports).filter((f) => !f).length };"
    assert run(steps)["pages"] == 0
    assert b"wasi" not in CORE.read_bytes()
    assert CORE.stat().st_size < 300_000


@pytest.mark.parametrize("name", SCENES)
def test_the_blocks_of_a_lattice_have_the_same_labels(run: Run, name: str) -> None:
    mesh = SCENES[name]()
    x, y, z = axes_of(mesh)
    steps = f"""{OPEN}
        const lattice = core.openLattice(inputs.x, inputs.y, inputs.z);
        const mask = core.latticeMask(mesh, lattice);
        return {{ mask, isClosed: mesh.isClosed, isBalanced: mesh.isBalanced,
                 bounds: mesh.bounds }};"""
    results = run(steps, **mesh_inputs(mesh), x=x, y=y, z=z)
    bits = cpu.lattice_bits(mesh, (x, y, z), 2)
    assert bits is not None
    same_bits(results["mask"], bits)
    assert results["isClosed"] == mesh.is_closed
    same_bits(results["bounds"], np.asarray(mesh.bounds))


@pytest.mark.parametrize("name", SCENES)
def test_points_have_the_same_answers(run: Run, name: str) -> None:
    mesh = SCENES[name]()
    points = points_of(mesh)
    steps = f"""{OPEN}
        const index = core.openPointIndex(mesh), points = core.put(inputs.points);
        return {{
          inside: core.contains(index, points),
          sides: core.sides(index, points),
          crossings: core.crossings(index, points),
          signed: core.crossings(index, points, true),
          on: core.onSurface(index, points),
        }};"""
    results = run(steps, **mesh_inputs(mesh), points=points)
    index = cpu.CpuPointIndex(mesh, threads=2)
    columns = points[:, 0], points[:, 1], points[:, 2]
    inside, on = np.empty((2, len(points)), np.uint8)
    sides = np.empty((len(points), 2), np.int32)
    crossings, signed = np.empty((2, len(points)), np.int32)
    refused = [
        index.contains(columns, inside, 2),
        index.sides(columns, sides, 2),
        index.crossings(columns, crossings, 2, signed=False),
        index.crossings(columns, signed, 2, signed=True),
        index.on_surface(columns, on, 2),
    ]
    assert refused == [-1] * 5
    same_bits(results["inside"], inside)
    same_bits(results["sides"], sides.ravel())
    same_bits(results["crossings"], crossings)
    same_bits(results["signed"], signed)
    same_bits(results["on"], on)


def distances(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    out = np.empty(len(points))
    columns = points[:, 0], points[:, 1], points[:, 2]
    assert cpu.CpuNearestIndex(mesh, threads=2).nearest(columns, out, 2) == -1
    return out


@pytest.mark.parametrize("name", ["star", "steps in a mine", "torus", "without a lid", "splinters"])
def test_distances_are_the_same(run: Run, name: str) -> None:
    mesh = SCENES[name]()
    points = points_of(mesh, 1000)[:-3]
    steps = f"""{OPEN}
        const index = core.openDistanceIndex(mesh);
        return {{ distances: core.distances(index, core.put(inputs.points)) }};"""
    results = run(steps, **mesh_inputs(mesh), points=points)
    same_bits(results["distances"], distances(mesh, points))


@pytest.mark.parametrize("name", ["star", "star in a mine", "torus", "steps in a mine"])
def test_shares_are_the_same(run: Run, name: str) -> None:
    mesh = SCENES[name]()
    low, high = mesh.bounds
    edges = [np.linspace(a - 1, b + 1, n) for a, b, n in zip(low, high, (17, 12, 80), strict=True)]
    centres = [(axis[1:] + axis[:-1]) / 2 for axis in edges]
    steps = f"""{OPEN}
        const lattice = core.openLattice(inputs.x, inputs.y, inputs.z);
        const mask = core.latticeMask(mesh, lattice);
        return {{ shares: core.shares(mesh, [inputs.a, inputs.b, inputs.c], mask) }};"""
    x, y, z = centres
    a, b, c = edges
    results = run(steps, **mesh_inputs(mesh), x=x, y=y, z=z, a=a, b=b, c=c)
    weights = np.empty(len(mesh.triangles), np.int8)
    native.core().projection_signs(mesh.vertices, mesh.triangles, len(weights), weights)
    shares = np.empty((16, 11, 79))
    bits = cpu.lattice_bits(mesh, (x, y, z), 2)
    assert bits is not None
    cpu.lattice_shares(mesh, weights, (a, b, c), bits, shares, 2)
    same_bits(results["shares"], shares.ravel())


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_the_first_mask_gives_the_code(run: Run, count: int) -> None:
    random = np.random.default_rng(count)
    columns = 9
    inside = random.random((4, columns, count)) < np.array([0.2, 0.5, 0.0, 1.0])[:, None, None]
    inside[3, ::2] = False
    bits = np.zeros((4, columns, (count + 63) // 64 * 8), np.uint8)
    bits[:, :, : (count + 7) // 8] = np.packbits(inside, axis=2, bitorder="little")
    codes = [3, 200, 3, 255]
    steps = f"""
        const masks = [inputs.m0, inputs.m1, inputs.m2, inputs.m3].map((mask) => core.put(mask));
        const codes = core.take(Uint8Array, {columns * count});
        const order = masks.map((mask, i) => [mask, {codes}[i]]);
        const counts = core.firstMask(order, {columns}, {count}, 17, codes);
        return {{ counts, codes }};"""
    results = run(steps, **{f"m{i}": bits[i].view(np.uint64) for i in range(4)})
    first = np.where(inside.any(axis=0), inside.argmax(axis=0), 4)
    same_bits(results["codes"], np.array([*codes, 17], np.uint8)[first].ravel())
    assert results["counts"] == np.bincount(first.ravel(), minlength=5)[:4].tolist()


def test_bytes_are_a_mask(run: Run) -> None:
    values = np.random.default_rng(0).integers(0, 3, 1000).astype(np.uint8)
    steps = "return { mask: core.maskOfBytes(core.put(inputs.values), 2) };"
    bits = np.packbits(values == 2, bitorder="little")
    expected = np.zeros(128, np.uint8)
    expected[: len(bits)] = bits
    assert run(steps, values=values)["mask"].tobytes() == expected.tobytes()


def moved_natively(mesh: Mesh, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[int]]:
    out, bounds, faults = np.empty_like(mesh.vertices), np.empty((2, 3)), np.zeros(2, np.int64)
    native.core().mesh_shift(
        mesh.vertices,
        len(out),
        mesh.triangles,
        len(mesh.triangles),
        np.ascontiguousarray(mesh.bounds),
        shift,
        out,
        bounds,
        faults,
    )
    return out, bounds, faults.tolist()


@pytest.mark.parametrize("name", ["star", "steps in a mine", "fan", "very small"])
@pytest.mark.parametrize("shift", [(0.0, 0.0, -2.0), (0.1, 1e-9, 1e6), (-0.0, 0.0, 1 / 3)])
def test_each_vertex_is_shifted_once(run: Run, name: str, shift: tuple[float, ...]) -> None:
    mesh, by = SCENES[name](), np.array(shift)
    vertices, bounds, (vertex, triangle) = moved_natively(mesh, by)
    assert vertex == -1
    same_bits(vertices.ravel(), (mesh.vertices + by + 0.0).ravel())
    steps = f"""{OPEN}
        try {{
          const moved = core.shiftMesh(mesh, inputs.shift);
          return {{ moved: moved.vertices, bounds: moved.bounds, row: -1,
                   isClosed: moved.isClosed }};
        }} catch (error) {{
          return {{ status: error.status, row: error.row }};
        }}"""
    results = run(steps, **mesh_inputs(mesh), shift=by)
    assert results["row"] == triangle
    if triangle >= 0:
        assert results["status"] == "triangle collapses"
        return
    after = Mesh(vertices, mesh.triangles)
    same_bits(results["moved"], vertices.ravel())
    same_bits(results["bounds"], np.asarray(after.bounds).ravel())
    same_bits(bounds, np.asarray(after.bounds))
    assert results["isClosed"] == after.is_closed


def test_a_shift_that_flattens_triangles_names_the_first(run: Run) -> None:
    small = cube(1.0)
    far, _, faults = moved_natively(small, np.array([1e17, 0.0, 0.0]))
    assert faults == [-1, 0]
    assert np.ptp(far[:, 0]) == 0.0
    # Flat before is no fault of the shift.
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 1]])
    flat = Mesh(corners, np.array([[0, 1, 2], [0, 2, 3]]))
    assert moved_natively(flat, np.array([1.0, 2.0, 3.0]))[2] == [-1, -1]
    steps = f"""{OPEN}
        const say = (shift) => {{
          try {{ core.shiftMesh(mesh, shift); }} catch (error) {{ return error.message; }}
        }};
        return {{ flat: say([1e17, 0, 0]), far: say([0, 1e300, 0]) }};"""
    results = run(steps, **mesh_inputs(small))
    assert results == {"flat": "triangle collapses: 0", "far": "vertex out of range: 0"}
    assert moved_natively(small, np.array([0.0, 1e300, 0.0]))[2] == [0, -1]


def amounts(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    volumes = random.random(count) * 10.0 ** random.integers(-3, 4, count)
    density, gold = 2 + random.random(count), random.lognormal(size=count)
    copper = random.normal(size=count)  # sums of both signs
    for column, part in ((volumes, 0.01), (density, 0.02), (gold, 0.1), (copper, 0.05)):
        column[random.random(count) < part] = np.nan
    gold[:3] = 0.5, 1.0, np.nextafter(1.0, 0.0)  # on a cut-off, and just below
    codes = random.integers(0, 4, count).astype(np.uint8)
    return {"codes": codes, "volumes": volumes, "density": density, "gold": gold, "copper": copper}


def test_sums_of_tonnes_are_those_of_the_command(run: Run) -> None:
    columns = amounts(20_000)
    steps = """
        const room = (name) => core.put(inputs[name]), gold = room("gold");
        const all = core.amounts(room("codes"), 4, {
          volume: room("volumes"), density: room("density"), grades: [gold, room("copper")],
          cut: gold, cutoffs: [0.5, 1],
        });
        const doubles = all.flat().map(({ sums }) => sums.map((sum) => page.nearestDouble(sum)));
        const means = all.flat().map(({ sums }) => page.nearestDouble(sums[3], sums[2]));
        return { all, doubles: Float64Array.from(doubles.flat()), means: Float64Array.from(means) };
        """
    results = run(steps, **columns)
    wanted = Wanted("domain", "density", ("gold", "copper"), cut="gold", cutoffs=(0.5, 1.0))
    tonnage = Tonnage(wanted)
    names = [f"D{code}" for code in range(4)]
    volumes = columns["volumes"]
    sizes = np.stack([volumes, *np.where(np.isnan(volumes), np.nan, np.ones((2, len(volumes))))], 1)
    tonnage.add(
        np.zeros((len(volumes), 3)),
        sizes,
        lambda name: columns[name],
        lambda texts: (names, columns["codes"].astype(np.intp)),
        None,
    )
    doubles, means = [], []
    for code, name in enumerate(names):
        for step in range(3):
            group, ours = tonnage.groups[name, "", None, step], results["all"][code][step]
            assert ours["counts"] == group.counts.tolist()
            # Units of 2^-1088 here and of 2^-1126 there.
            assert [int(total) << 38 for total in ours["sums"]] == group.sums
            doubles += [nearest_float(total) for total in group.sums]
            means.append(nearest_float(group.sums[3], group.sums[2]))
    same_bits(results["doubles"], np.array(doubles))
    same_bits(results["means"], np.array(means))


def test_one_volume_and_density_for_all_blocks(run: Run) -> None:
    codes = np.array([0, 2, 2, 2], np.uint8)
    steps = """
        const all = core.amounts(core.put(inputs.codes), 3, { volume: 0.1, density: 2.7 });
        return { counts: all.flat().map(({ counts }) => counts),
                 volumes: all.flat().map(({ sums }) => page.nearestDouble(sums[0])) };"""
    results = run(steps, codes=codes)
    assert results["counts"] == [[1, 0, 0], [0, 0, 0], [3, 0, 0]]
    assert results["volumes"] == [0.1, 0.0, float(3 * Fraction(0.1))]


def test_a_product_that_no_double_holds_names_its_block(run: Run) -> None:
    steps = """
        try {
          core.amounts(core.put(new Uint8Array(3)), 1, {
            volume: 1e300, density: core.put(Float64Array.of(1, NaN, 1e10)) });
        } catch (error) { return { message: error.message }; }"""
    assert run(steps)["message"] == "too large: 2"


def test_quotients_are_rounded_as_by_python(run: Run) -> None:
    random = np.random.default_rng(3)
    pairs = []
    for _ in range(400):
        whole = int(random.integers(1, 1 << 62)) << int(random.integers(0, 1200))
        weight = int(random.integers(1, 1 << 62)) << int(random.integers(0, 1200))
        pairs.append((-whole if random.random() < 0.3 else whole, weight))
    pairs += [((1 << 53) + 1, 1), ((1 << 54) + 6, 2), ((3 << 53) + 3, 1), (1, 1 << 1074), (0, 5)]
    pairs += [(1, 1 << 1075), (3, 1 << 1075), ((1 << 1075) + 1, 1 << 2150), ((1 << 1100), 1)]
    texts = [[str(a), str(b)] for a, b in pairs]
    steps = f"""const pairs = {json.dumps(texts)};
        return {{ quotients: Float64Array.from(pairs, ([a, b]) =>
          page.nearestDouble(BigInt(a), BigInt(b))) }};"""
    same_bits(run(steps)["quotients"], np.array([nearest_float(a, b) for a, b in pairs]))


def test_what_cannot_be_decided_is_named(run: Run) -> None:
    points = np.array([(1.0, 1.0, 1.0), UNDECIDABLE])
    steps = f"""{OPEN}
        const say = (ask) => {{
          try {{ ask(); }} catch (error) {{ return error.message; }}
        }};
        const index = core.openPointIndex(mesh), points = core.put(inputs.points);
        const axes = Array.from(inputs.points.slice(3), (value) => [value]);
        return {{ messages: [
          say(() => core.contains(index, points)),
          say(() => core.sides(index, points)),
          say(() => core.latticeMask(mesh, core.openLattice(...axes))),
        ] }};"""
    messages = run(steps, **mesh_inputs(minute()), points=points)["messages"]
    assert messages == ["undecided: 1", "undecided: 1", "undecided"]


@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, math.nan, 0]], [[0, 1, 2]], "vertex out of range: 2"),
        ([[0, 0, 0], [1, 0, 0], [0, 1e-310, 0]], [[0, 1, 2]], "vertex out of range: 2"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 1, 3]], "triangle out of range: 1"),
    ],
)
def test_a_damaged_mesh_is_refused(run: Run, vertices, triangles, message: str) -> None:
    steps = """
        try { core.openMesh(inputs.vertices, inputs.triangles); } catch (error) {
          return { message: error.message };
        }"""
    arrays = np.array(vertices, float), np.array(triangles, np.int32)
    assert run(steps, vertices=arrays[0], triangles=arrays[1])["message"] == message


def test_a_call_without_memory_ends_without_harm(run: Run) -> None:
    mesh = star(40)
    points = points_of(mesh, 2000)
    # Memory is taken until little is left, so that a call fails in the middle of its work.
    steps = f"""{OPEN}
        const points = core.put(inputs.points), taken = [], failed = {{}};
        let size = 1 << 30;
        while (size >= 1 << 13) {{
          try {{ taken.push(core.take(Uint8Array, size)); }} catch {{ size /= 2; }}
        }}
        const tries = {{
          points: () => core.openPointIndex(mesh),
          distances: () => core.openDistanceIndex(mesh),
          shift: () => core.shiftMesh(mesh, [1, 0, 0]),
        }};
        const stack = core.exports.__stack_pointer.value;
        for (const [name, attempt] of Object.entries(tries)) {{
          for (let round = 0; round < 20; round++) {{
            try {{ attempt(); failed[name] = "nothing"; }} catch (error) {{
              failed[name] = error.message;
            }}
          }}
        }}
        const kept = core.exports.__stack_pointer.value === stack;
        while (taken.length) taken.pop().free();
        const bytes = core.memory.buffer.byteLength;
        const index = core.openPointIndex(mesh);
        return {{ failed, kept, inside: core.contains(index, points),
                 grown: core.memory.buffer.byteLength - bytes }};"""
    results = run(steps, **mesh_inputs(mesh), points=points)
    assert results["failed"] == dict.fromkeys(["points", "distances", "shift"], "out of memory")
    assert results["kept"]
    assert results["grown"] == 0
    same_bits(results["inside"].view(np.bool_), geodomain.contains(mesh, points, backend="cpu"))


def test_memory_is_given_back(run: Run) -> None:
    mesh = star(20)
    steps = f"""{OPEN}
        const points = core.put(inputs.points);
        const round = () => {{
          const index = core.openPointIndex(mesh), far = core.openDistanceIndex(mesh);
          core.contains(index, points).free();
          core.distances(far, points).free();
          core.freeMesh(core.shiftMesh(mesh, [1, 2, 3]));
          core.freePointIndex(index);
          core.freeDistanceIndex(far);
        }};
        round();
        const bytes = core.memory.buffer.byteLength;
        for (let i = 0; i < 20; i++) round();
        return {{ grown: core.memory.buffer.byteLength - bytes }};"""
    assert run(steps, **mesh_inputs(mesh), points=points_of(mesh, 500)[:-3])["grown"] == 0


@pytest.mark.full
def test_a_million_points_have_the_same_labels_and_distances(run: Run) -> None:
    mesh = star(60, centre=MINE)
    points = np.random.default_rng(11).normal(size=(1_000_000, 3)) * 60 + MINE
    steps = f"""{OPEN}
        const points = core.put(inputs.points);
        return {{
          inside: core.contains(core.openPointIndex(mesh), points),
          distances: core.distances(core.openDistanceIndex(mesh), points),
        }};"""
    results = run(steps, **mesh_inputs(mesh), points=points)
    same_bits(results["inside"].view(np.bool_), geodomain.contains(mesh, points, backend="cpu"))
    same_bits(results["distances"], distances(mesh, points))


def test_the_demo_has_the_labels_of_the_command(run: Run) -> None:
    demo = deposit("small")
    ground, domains = demo.topography, demo.domains
    listed = [Domain("AIR", [ground], kind="above")]
    listed += [Domain(name, meshes) for name, meshes in domains.items()]
    centroids = demo.regular.centroids
    x, y, z = (np.unique(column) for column in centroids.T)
    assert len(x) * len(y) * len(z) == len(centroids)
    meshes = [ground, *(mesh for solids in domains.values() for mesh in solids)]
    codes = [code for code, solids in enumerate(domains.values(), 1) for _ in solids]
    arrays = {"x": x, "y": y, "z": z, "points": centroids}
    for i, mesh in enumerate(meshes):
        arrays[f"v{i}"], arrays[f"t{i}"] = mesh_inputs(mesh).values()
    steps = f"""
        const lattice = core.openLattice(inputs.x, inputs.y, inputs.z);
        const count = lattice.columns * lattice.layers, points = core.put(inputs.points);
        const meshes = {list(range(len(meshes)))}.map(
          (i) => core.openMesh(inputs[`v${{i}}`], inputs[`t${{i}}`]));
        const below = (mask) => {{  // a block is above where the number of crossings is even
          const bits = new Uint32Array(core.memory.buffer, mask.address, 2 * mask.count);
          for (let i = 0; i < bits.length; i++) bits[i] = ~bits[i];
          return mask;
        }};
        const label = (masks, columns, layers) => {{
          const codes = core.take(Uint8Array, count);
          const order = masks.map((mask, i) => [mask, [0, ...{codes}][i]]);
          const counts = core.firstMask(order, columns, layers, 9, codes);
          return {{ codes: codes, counts }};
        }};
        const masks = meshes.map((mesh) => core.latticeMask(mesh, lattice));
        below(masks[0]);
        const blocks = label(masks, lattice.columns, lattice.layers);
        const ofPoints = meshes.map((mesh) => {{
          const index = core.openPointIndex(mesh);
          return core.maskOfBytes(core.contains(index, points), mesh === meshes[0] ? 0 : 1);
        }});
        const scattered = label(ofPoints, 1, count);
        return {{ blocks: blocks.codes, scattered: scattered.codes, counts: blocks.counts }};"""
    results = run(steps, **arrays)
    theirs = Labeller(listed).label(centroids).codes
    expected = np.where(theirs == len(listed), 9, theirs).astype(np.uint8)
    same_bits(results["scattered"], expected)
    place = np.lexsort((centroids[:, 2], centroids[:, 1], centroids[:, 0]))
    same_bits(results["blocks"], expected[place])
    assert sum(results["counts"]) == int((expected != 9).sum())
