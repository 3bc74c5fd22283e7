"""The command `geodomain devices`: list the CPU and the GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from geodomain.cli import options
from geodomain.cli.console import print_json, print_text
from geodomain.errors import counted

if TYPE_CHECKING:
    from geodomain.compute.inventory import Gpu, Inventory

_EXAMPLE = """\b
Example:
  geodomain devices
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@options.json_option
def devices(as_json: bool) -> None:
    """List the CPU and the GPUs, which would be used, and why the others would not.

    All the GPUs listed are used, or those that --devices of a command names, or those whose
    numbers are in GEODOMAIN_DEVICE, such as 0,1. CUDA_VISIBLE_DEVICES leaves out GPUs altogether.

    Exit codes: 0 ok, with or without a GPU, 1 a bug, 2 usage.
    """
    from geodomain.compute.inventory import take

    found = take()
    if as_json:
        print_json(found.as_dict())
    else:
        print_text(_as_text(found))


def _as_text(found: Inventory) -> str:
    """Lay the inventory out as lines to read."""
    choice = "the GPU where it pays" if found.backend == "cuda" else "the CPU"
    lines = [f"--backend auto takes {choice}: {found.reason}", ""]
    lines += [line for gpu in found.gpus for line in _gpu_lines(gpu)]
    level = f", x86-64-v{found.cpu_level}" if found.cpu_level > 1 else ""
    rows = {
        "CPU": f"{counted(found.cpu_threads, 'thread')}{level}",
        "driver": f"for CUDA {found.driver}" if found.driver else "none that answers",
        "PyCUDA": found.pycuda or "not installed",
        "nvcc": found.nvcc or "not on the PATH",
        "cache": found.cache + ("" if found.cache_is_private else " (not used: not yours alone)"),
    }
    return "\n".join([*lines, *[f"{name:8}{value}" for name, value in rows.items()]])


def _gpu_lines(gpu: Gpu) -> list[str]:
    """Describe one GPU and the origin of its kernels."""
    use = "used" if gpu.used else f"not used; GEODOMAIN_DEVICE={gpu.number} would"
    size = f"{gpu.memory_bytes / 2**30:.1f} GiB"
    origins = ", ".join(f"{file} from {origin}" for file, origin in gpu.kernels.items())
    return [
        f"GPU {gpu.number}   {gpu.name}, {gpu.architecture}, {size}: {use}",
        f"        kernels: {origins}",
    ]
