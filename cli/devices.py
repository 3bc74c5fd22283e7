"""The command `geodomain devices`: what there is to compute on, and what would be used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from geodomain.cli.options import CONTEXT

if TYPE_CHECKING:
    from geodomain.backends.inventory import Gpu, Inventory

_EXAMPLE = """\b
Example:
  geodomain devices
"""


@click.command(epilog=_EXAMPLE, context_settings=CONTEXT)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def devices(as_json: bool) -> None:
    """List what there is to compute on, what would be used, and why not the rest.

    Of several GPUs the first is used, or the one whose number is in GEODOMAIN_DEVICE.

    Exit codes: 0 ok, with or without a GPU, 1 a bug, 2 usage.
    """
    from geodomain.backends.inventory import take

    found = take()
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else _as_text(found))


def _as_text(found: Inventory) -> str:
    """Lay the inventory out as lines to read."""
    choice = "the GPU where it pays" if found.backend == "cuda" else "the CPU"
    lines = [f"--backend auto takes {choice}: {found.reason}", ""]
    lines += [line for gpu in found.gpus for line in _gpu_lines(gpu)]
    level = f", x86-64-v{found.cpu_level}" if found.cpu_level > 1 else ""
    rows = {
        "CPU": f"{found.cpu_threads} thread{'s' * (found.cpu_threads != 1)}{level}",
        "driver": f"for CUDA {found.driver}" if found.driver else "none that answers",
        "PyCUDA": found.pycuda or "not installed",
        "nvcc": found.nvcc or "not on the PATH",
        "cache": found.cache + ("" if found.cache_is_private else " (not used: not yours alone)"),
    }
    return "\n".join([*lines, *[f"{name:8}{value}" for name, value in rows.items()]])


def _gpu_lines(gpu: Gpu) -> list[str]:
    """Say one GPU, and where its kernels are from."""
    use = "used" if gpu.used else f"not used; GEODOMAIN_DEVICE={gpu.number} would"
    size = f"{gpu.memory_bytes / 2**30:.1f} GiB"
    origins = ", ".join(f"{file} from {origin}" for file, origin in gpu.kernels.items())
    return [
        f"GPU {gpu.number}   {gpu.name}, {gpu.architecture}, {size}: {use}",
        f"        kernels: {origins}",
    ]
