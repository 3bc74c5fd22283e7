"""Commands for PowerShell and cmd beside those for sh, where a block of a page differs there.

A block that is the same in all three stays as it is. So does one with pipes, redirections or
here-documents, which `docs/start/install.md` leaves to a POSIX shell.

Where a long command continues on the next line of a page, no option is cut at its hyphens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the quick tests, which translate a block, have no Sphinx
    from sphinx.application import Sphinx

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What no translation is made for: it would not write the same bytes.
ONLY_SH = re.compile(r"""[|>&;$`]|<<|'[^'\n]*"|^(?!geodomain |head -n |\s)""", re.MULTILINE)
# In HTML: a blank may be an element of its own, and in PowerShell each hyphen is one.
OPTION = re.compile(
    r'(?<=[\s>])(?:<span class="p">-</span><span class="\w+">-[a-z0-9-]+</span>'
    r"|--?[a-z][a-z0-9-]*)"
)
HEAD = re.compile(r"^head -n (\d+) (\S+)$", re.MULTILINE)

TABS = """::::{{tab-set}}
:sync-group: shell

:::{{tab-item}} sh
:sync: sh
```sh
{sh}```
:::

:::{{tab-item}} PowerShell
:sync: powershell
```powershell
{powershell}```
:::

:::{{tab-item}} cmd
:sync: cmd
```bat
{cmd}```
:::
::::"""


def powershell(block: str) -> str:
    """Return a block of commands for PowerShell."""
    block = block.replace(" \\\n", " `\n")
    return HEAD.sub(r"Get-Content \2 -TotalCount \1", block)


def cmd(block: str) -> str:
    """Return a block of commands for cmd, which knows no single quotes."""
    block = block.replace(" \\\n", " ^\n").replace("'", '"')
    return HEAD.sub(r"powershell Get-Content \2 -TotalCount \1", block)


def with_tabs(page: str) -> str:
    """Return a page in Markdown in which blocks that differ by shell have a tab for each."""
    return BLOCK.sub(lambda match: _tabs(match[1]) or match[0], page)


def _tabs(block: str) -> str:
    """Return the tabs of a block; "" where there is nothing to translate, or no translation."""
    same = powershell(block) == block == cmd(block)
    if same or ONLY_SH.search(re.sub(r" \\\n\s*", " ", block.rstrip())):
        return ""
    return TABS.format(sh=block, powershell=powershell(block), cmd=cmd(block))


def setup(app: Sphinx) -> dict[str, bool]:
    """Translate each page as it is read, and mark options as it is written."""
    app.connect("source-read", _read)
    app.connect("builder-inited", _keep_options_whole)
    return {"parallel_read_safe": True}


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = with_tabs(source[0])


def keep_whole(html: str) -> str:
    """Return a highlighted block of commands whose options are marked for the style sheet."""
    return OPTION.sub(r'<span class="whole">\g<0></span>', html)


def _keep_options_whole(app: Sphinx) -> None:
    highlighter = getattr(app.builder, "highlighter", None)
    if app.builder.format != "html" or highlighter is None:
        return
    plain = highlighter.highlight_block

    def highlight(source: str, lang: str, *rest: object, **options: object) -> str:
        html: str = plain(source, lang, *rest, **options)
        return keep_whole(html) if lang in {"sh", "powershell", "bat"} else html

    highlighter.highlight_block = highlight
