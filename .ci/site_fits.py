"""Open every page of a site that was made, on a phone and on a laptop: nothing is cut.

python .ci/site_fits.py SITE

A page must not be wider than the window, and no code and no title wider than its box. Tables,
printed ones too, and pictures may scroll in theirs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTHS = (420, 1280)
# Elements that are cut: their text is wider than they are.
CUT = """() => [...document.querySelectorAll("article h1, article h2, article pre, article dt")]
    .filter(box => box.scrollWidth > box.clientWidth + 1 && !box.closest(".printed-table"))
    .map(box => box.innerText.slice(0, 60))"""
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def main(site: Path, chromium: str) -> int:
    """Print what does not fit; 1 if there is any."""
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "demo_report.html"]
    cut = 0
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in WIDTHS:
            tab = browser.new_page(viewport={"width": width, "height": 1200})
            tab.route("http*://**", lambda route: route.abort())
            for page in pages:
                tab.goto(page.as_uri(), wait_until="load")
                wide = [f"{tab.evaluate(WIDER)} px"] if tab.evaluate(WIDER) > 0 else []
                # Text that a program printed keeps its columns on a phone, and scrolls.
                texts = tab.evaluate(CUT) if width > WIDTHS[0] else []
                for text in [*wide, *texts]:
                    cut += 1
                    sys.stdout.write(f"{width} {page.relative_to(site)}: {text!r}\n")
        browser.close()
    sys.stdout.write(f"{len(pages)} pages, {cut} places that are cut\n")
    return int(cut > 0)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2]))
