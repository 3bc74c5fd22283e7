"""The Open Mining Format, both versions: indices and arrays; which elements matter is not here."""
