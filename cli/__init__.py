"""The command line: one module to a command; parse, call the library, report."""

from __future__ import annotations

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="geodomain")
def main() -> None:
    """Label geological block models: which blocks lie inside which wireframe, exactly."""
