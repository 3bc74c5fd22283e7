"""Block models in many files: which parts they have, which are labelled, one summary of all."""
