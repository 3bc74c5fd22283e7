"""Block models in many files: parts, stores, jobs and one summary."""
