"""Run the command line as `python -m geodomain.cli`; nothing else."""

from geodomain.cli import main

main(prog_name="geodomain")
