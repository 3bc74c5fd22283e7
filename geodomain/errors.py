"""The errors that geodomain raises for bad data; nothing else lives here."""


class GeodomainError(ValueError):
    """Bad data, said in one sentence: what is wrong, where, and how to mend it.

    A caller's slip (a wrong type, an unknown option) is a plain ``TypeError``
    or ``ValueError``; a bug keeps its traceback.
    """


class MeshError(GeodomainError):
    """A mesh that cannot be used: not closed, out of range, unreadable."""


class PointError(GeodomainError):
    """A point whose label cannot be decided within the range of the arithmetic."""


class TableError(GeodomainError):
    """A block-model table that cannot be read or must not be guessed at."""


class DomainError(GeodomainError):
    """A list of domains that cannot be used: a name twice, a wrong value, a missing file."""


class DeviceError(GeodomainError):
    """A compute device that was asked for and cannot be used."""


class GeodomainWarning(UserWarning):
    """Something the user should know about data that is used all the same."""
