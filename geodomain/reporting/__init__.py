"""Reports, sections and inspections of block models."""
