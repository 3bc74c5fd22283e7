"""Domains and stacks, their order, and the TOML file with the list of domains."""
