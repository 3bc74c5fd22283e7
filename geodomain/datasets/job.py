"""What a dataset is labelled with, as a hash: whether two runs would write the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.metadata import version

import numpy as np

from geodomain.datasets.stores import Store
from geodomain.domains.order import Domains
from geodomain.io.conditions import Condition
from geodomain.io.header.options import TableOptions
from geodomain.labelling.prepared import Prepared
from geodomain.mesh.mesh import Mesh

# Of what is stored of a job and its parts; another one is another job.
_FORMAT = 1


def describe_job(base: Store, ready: Prepared, options: TableOptions) -> dict[str, object]:
    """Return all that decides what a part's output and its counts are.

    Backends and threads are no part of it, since they give the same labels.
    """
    labeller, plan = ready.labeller, ready.plan
    return {
        "format": _FORMAT,
        "version": version("geodomain"),
        "dataset": base.place,
        "domains": _of_domains(labeller.domains),
        "options": {
            **{name: value for name, value in asdict(plan).items()},
            "rule": labeller.rule,
            "allow_open": labeller.allow_open,
            "count_on_wall": labeller.count_on_wall,
            "table": repr(options),
        },
    }


def hash_of(job: Mapping[str, object]) -> str:
    """Return the SHA-256 of a description."""
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()


def _of_domains(domains: Domains) -> dict[str, object]:
    """Describe domains, their meshes by hashes of what they are."""
    meshes = {id(mesh): mesh_hash(mesh) for mesh in domains.meshes}

    def hashes(some: Iterable[Mesh]) -> list[str]:
        return [meshes[id(mesh)] for mesh in some]

    return {
        "order": domains.order,
        "below_detection": domains.below_detection,
        "labels": [domains.background, domains.unassigned],
        "codes": [domains.background_code, domains.unassigned_code],
        "domains": [
            {
                "name": domain.name,
                "kind": domain.kind,
                "code": None if domain.code is None else int(domain.code),
                "only_if": _of_conditions(domain.only_if),
                "keep": domain.keep,
                "invert": domain.invert,
                "rule": domain.rule,
                "extend": domain.extend,
                "limits": [domain.within, domain.beyond],
                "meshes": hashes(domain.meshes),
            }
            for domain in domains.domains
        ],
        "stacks": [
            {
                "layers": [[layer.name, repr(layer.code)] for layer in stack.named],
                "names": [*stack.layers],
                "rule": stack.rule,
                "only_if": _of_conditions(stack.only_if),
                "extend": stack.extend,
                "surfaces": [hashes(tiles) for tiles in stack.surfaces],
            }
            for stack in domains.stacks
        ],
    }


def _of_conditions(conditions: Iterable[Condition]) -> list[str]:
    """Describe conditions."""
    return [f"{one.column} {one.operator} {one.values!r}" for one in conditions]


def mesh_hash(mesh: Mesh) -> str:
    """Return the SHA-256 of a mesh's triangles and vertices, as little-endian numbers."""
    triangles = np.ascontiguousarray(mesh.triangles, "<i4")
    digest = hashlib.sha256(f"{len(mesh.vertices)} {len(triangles)}\n".encode())
    digest.update(np.ascontiguousarray(mesh.vertices, "<f8").data)
    digest.update(triangles.data)
    return digest.hexdigest()
