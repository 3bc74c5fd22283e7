"""Domains, stacks, their order, and the TOML file that lists them."""
