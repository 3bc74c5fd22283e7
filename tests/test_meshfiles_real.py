"""Wireframes that others made are read with the counts that are known of them."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from geodomain import GeodomainWarning, read_mesh
from geodomain.meshfiles.merging import merge_equal

CORPUS = [
    *["cubefold", "slivertet", "plateholes", "traybottom", "crayleft"],
    *["legocar", "dom1", "capsule", "offset1", "mpz"],
]
ELSEWHERE = {"dom1": "demo1/dom1.vtp", "mpz": "babbitt/Mpz.stl"}


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_has_the_counts_of_its_manifest(shared_data, name):
    with (shared_data / "corpus" / "manifest.tsv").open() as file:
        known = next(row for row in csv.DictReader(file, delimiter="\t") if row["name"] == name)
    path = shared_data / ELSEWHERE.get(name, f"corpus/{known['file']}")
    if name == "mpz":
        with pytest.warns(GeodomainWarning, match=r"only good to 0\.25"):
            mesh = read_mesh(path)
    else:
        mesh = read_mesh(path)
    assert len(mesh.triangles) == int(known["n_tri"])
    corners = mesh.vertices[mesh.triangles]
    distinct, _ = merge_equal(corners.reshape(-1, 3))
    assert len(distinct) == int(known["n_vert"])
    volume = np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(float(known["signed_volume"]), rel=1e-4, abs=1e-12)


@pytest.mark.parametrize(
    ("path", "triangles"),
    [("babbitt/Mpt.stl", 28106), ("babbitt/domain.stl", 31948)],
)
def test_the_babbitt_deposit(shared_data, path, triangles):
    with pytest.warns(GeodomainWarning, match="single precision"):
        mesh = read_mesh(shared_data / path)
    assert len(mesh.triangles) == triangles
    assert np.array_equal(mesh.vertices, mesh.vertices.astype(np.float32))


def test_obj_agrees_with_another_reader(shared_data):
    trimesh = pytest.importorskip("trimesh")
    for path in [shared_data / "bunny/bunny.obj", shared_data / "corpus/crayleft.obj"]:
        theirs = trimesh.load(path, process=False, force="mesh", maintain_order=True)
        ours = read_mesh(path)
        assert np.array_equal(ours.vertices[ours.triangles], theirs.vertices[theirs.faces])
