"""Wireframes as files: one module a format, which one by content; computes nothing."""
