"""All that a pass over blocks counts: merged with that of other passes, and stored as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import BlockChecks
from geodomain.domains.order import DomainOrLayer
from geodomain.io.number_columns import NegativeGrades
from geodomain.labelling.tally import SUMS, Folds, Tally
from geodomain.lattice import StoredArray

Arrays = Mapping[str, StoredArray]
_PLAIN = (*SUMS, "first_leak", "bounds", "axes", "turned")
_CHECK = "check_"
# So many centroids are stored for a second look.
_SAMPLES = 1000


class Counts(NamedTuple):
    """What was counted of blocks, and what the blocks say of themselves."""

    tally: Tally
    checks: BlockChecks

    @classmethod
    def empty(cls, targets: Sequence[DomainOrLayer]) -> Counts:
        """Return the counts of no block."""
        return cls(Tally(targets), BlockChecks())

    def merge(self, later: Counts) -> None:
        """Add the counts of blocks that come after these."""
        self.tally.merge(later.tally)
        self.checks.merge(later.checks)

    def arrays(self) -> dict[str, StoredArray]:
        """Return what `restored` makes the same counts of; every name is a plain word."""
        tally = self.tally
        number, sizes = tally.first_unsized or (0, np.zeros(3))
        stored: dict[str, StoredArray] = {name: getattr(tally, name) for name in _PLAIN}
        stored["met"] = np.array(tally.met, np.int64)
        stored["scalars"] = np.array([tally.on_wall, tally.unsized, tally.sized, number], np.int64)
        stored["unsized"] = sizes
        stored["sample"] = tally.sample[:: 1 + len(tally.sample) // _SAMPLES]
        stored["folded"] = np.array([*tally.folds], np.str_)
        for place, folds in enumerate(tally.folds.values()):
            stored[f"fold_{place}"] = _columns_of(folds)
        stored["negative"] = np.array([*tally.negative], np.str_)
        for place, negative in enumerate(tally.negative.values()):
            stored[f"negative_{place}"] = negative.stored()
        checks = self.checks.arrays()
        return stored | {f"{_CHECK}{name}": array for name, array in checks.items()}

    @classmethod
    def restored(cls, targets: Sequence[DomainOrLayer], stored: Arrays) -> Counts:
        """Return the counts that `arrays` stored, of the same targets.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or has another shape.
        """
        tally = Tally(targets)
        for name in _PLAIN:
            np.copyto(getattr(tally, name), stored[name], casting="no")
        tally.met = np.asarray(stored["met"], np.int64).tolist()
        on_wall, unsized, sized, number = np.asarray(stored["scalars"], np.int64).tolist()
        tally.on_wall, tally.unsized, tally.sized = on_wall, unsized, bool(sized)
        if number:
            tally.first_unsized = number, np.asarray(stored["unsized"], np.float64)
        tally.keep_sample(np.asarray(stored["sample"], np.float64))
        for place, name in enumerate(stored["folded"]):
            tally.folds[str(name)] = _folds_of(np.asarray(stored[f"fold_{place}"], np.float64))
        for place, name in enumerate(map(str, stored["negative"])):
            rows = np.asarray(stored[f"negative_{place}"], np.float64)
            tally.negative[name] = NegativeGrades.restored(name, rows)
        begun = {n.removeprefix(_CHECK): a for n, a in stored.items() if n.startswith(_CHECK)}
        return cls(tally, BlockChecks.restored(begun))


def _columns_of(folds: Folds) -> NDArray[np.float64]:
    """Return the number of blocks, twice, the first place, and then the columns: (n + 2, 2)."""
    columns = np.frombuffer(b"".join(sorted(folds.columns)), np.float64).reshape(-1, 2)
    return np.concatenate([[[folds.blocks] * 2, folds.first], columns])


def _folds_of(rows: NDArray[np.float64]) -> Folds:
    """Return the folds that `_columns_of` stored."""
    (blocks, _), (x, y), *columns = rows
    return Folds(int(blocks), {column.tobytes() for column in columns}, (float(x), float(y)))
