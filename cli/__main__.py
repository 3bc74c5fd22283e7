"""Run the command line as `python -m geodomain.cli`."""

import runpy

runpy.run_module("geodomain", run_name="__main__", alter_sys=True)
