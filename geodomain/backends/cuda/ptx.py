"""The PTX of a kernel file cut into its kernels; no driver needed.

A driver compiles all that it is given, and a file has many more kernels than a call needs: of
those that count crossings of points, three of eleven.
"""

from __future__ import annotations

import re

# The name of a kernel, or of a function of its own, behind what the latter returns.
_NAME = re.compile(r"\n(?:\.visible )?\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)")
_DECLARED = re.compile(r"\n\.func\s+(?:\([^)]*\)\s*)?(\w+)\s*\([^)]*\)\s*;")
_ENTRY = re.compile(r"\.entry\s+(\w+)")


def kernels(text: str) -> set[str]:
    """Return the names of the kernels."""
    return set(_ENTRY.findall(text))


def only(text: str, kernel: str) -> str:
    """Return the PTX of one kernel and of what it calls; all of it where that is not found."""
    parts = _parts(text)
    bodies = {name: part for name, part in parts if name}
    functions = {name for name, part in bodies.items() if part.startswith("\n.func")}
    needed, new = set[str](), {kernel} & bodies.keys()
    while new:
        needed |= new
        new = {name for name in functions - needed if any(name in bodies[one] for one in new)}
    if not needed:
        return text

    def declared(found: re.Match[str]) -> str:
        return found[0] if found[1] in needed else ""

    kept = [_DECLARED.sub(declared, part) if not name else part for name, part in parts]
    names = [name for name, _ in parts]
    return "".join(part for name, part in zip(names, kept, strict=True) if name in {"", *needed})


def _parts(text: str) -> list[tuple[str, str]]:
    """Split PTX into kernels and functions with a body, by name, and what is between, by "".

    Compilers put the braces around a body, and no others, alone at the beginning of a line.
    """
    parts, begin = [], 0
    while (body := text.find("\n{\n", begin)) >= 0:
        end = text.index("\n}\n", body) + 2
        head = max(text.rfind(word, begin, body) for word in ("\n.func", "\n.visible .entry"))
        found = _NAME.match(text, head)
        if head < 0 or found is None:
            return [("", text)]
        parts += [("", text[begin:head]), (found[1], text[head:end])]
        begin = end
    return [*parts, ("", text[begin:])]
