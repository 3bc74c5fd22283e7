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
    """List the CPU and the GPUs, and say which of them --backend auto uses, and why.

    By default commands use all listed GPUs. To select some, give --devices to a command, or set
    GEODOMAIN_DEVICE=0,1. CUDA_VISIBLE_DEVICES hides GPUs from geodomain altogether.

    Exit codes: 0 ok, with or without a GPU, 1 a bug, 2 usage.
    """
    from geodomain.compute.inventory import take

    inventory = take()
    if as_json:
        print_json(inventory.as_dict())
    else:
        print_text(_as_text(inventory))


def _as_text(inventory: Inventory) -> str:
    """Return the CPU and the GPUs as lines of text."""
    choice = "the GPU if it is faster" if inventory.backend == "cuda" else "the CPU"
    lines = [f"--backend auto uses {choice}: {inventory.reason}", ""]
    lines += [line for gpu in inventory.gpus for line in _gpu_lines(gpu)]
    level = f", x86-64-v{inventory.cpu_level}" if inventory.cpu_level > 1 else ""
    rows = {
        "CPU": f"{counted(inventory.cpu_threads, 'thread')}{level}",
        "driver": f"for CUDA {inventory.driver}" if inventory.driver else "not available",
        "PyCUDA": inventory.pycuda or "not installed",
        "nvcc": inventory.nvcc or "not on the PATH",
        "cache": inventory.cache
        + ("" if inventory.cache_is_private else " (not used: other users can write to it)"),
    }
    return "\n".join([*lines, *[f"{name:8}{value}" for name, value in rows.items()]])


def _gpu_lines(gpu: Gpu) -> list[str]:
    """Return lines that describe a GPU and say where its compiled kernels come from."""
    use = "used" if gpu.used else f"not used; GEODOMAIN_DEVICE={gpu.number} would select it"
    size = f"{gpu.memory_bytes / 2**30:.1f} GiB"
    origins = ", ".join(f"{file} from {origin}" for file, origin in gpu.kernels.items())
    return [
        f"GPU {gpu.number}   {gpu.name}, {gpu.architecture}, {size}: {use}",
        f"        kernels: {origins}",
    ]
