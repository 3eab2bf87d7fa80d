"""Make docs/pictures/: what the commands print, as SVG, and the HTML report as a browser shows it.

python docs/pictures.py            # writes them; without Chromium the HTML report's picture stays as it is
python docs/pictures.py --check    # writes nothing; exit code 1 where a command prints something else now
"""

from __future__ import annotations

import argparse
import html
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
FOLDER = DOCS / "pictures"
WIDTH = 100
# Name of the picture, and the command, from the root of the repository.
COMMANDS = {
    "check": "transferlint check --isolated examples/sequences.py",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def printed(command: str) -> str:
    """What a command prints, with its colours."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    words = [sys.executable, "-m", *command.split()]
    made = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    if made.returncode not in (0, 1) or not made.stdout:
        raise SystemExit(f"{command}: {made.stderr}")
    return made.stdout


def drawn(name: str, text: str) -> str:
    """A picture of a terminal, which fetches no font."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text("$ " + COMMANDS[name], style="bold"))
    console.print(Text.from_ansi(text.rstrip("\n")))
    svg = FONT.sub("", console.export_svg(title="", theme=MONOKAI, unique_id=name))
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def words_of(svg: str) -> list[str]:
    """The words that a picture shows."""
    return " ".join(html.unescape(one) for one in re.findall(r"<text[^>]*>([^<]*)</text>", svg)).split()


def of_report() -> bool:
    """Take the picture of the HTML report; False where there is no browser for it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return False
    with tempfile.TemporaryDirectory() as home:
        page = Path(home) / "report.html"
        check = [sys.executable, "-m", "transferlint", "check", "--isolated", "--exit-zero", "-f", "html"]
        subprocess.run([*check, "-o", str(page), "examples"], cwd=ROOT, check=True, capture_output=True)
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += ["--window-size=1280,900"]
        target = f"--screenshot={FOLDER / 'report.png'}"
        subprocess.run([*command, target, page.as_uri()], check=True, capture_output=True, timeout=120)
    return True


def main() -> int:
    """Write the pictures, or hold them against what is printed now."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = False
    for name, command in COMMANDS.items():
        path, svg = FOLDER / f"{name}.svg", drawn(name, printed(command))
        if path.exists() and words_of(path.read_text(encoding="utf-8")) == words_of(svg):
            continue
        stale = True
        print(f"docs/pictures/{path.name}: {'not current' if check else 'written'}")
        if not check:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(svg, encoding="utf-8", newline="\n")
    if not check and not of_report():
        print("docs/pictures/report.png: left as it is: no Chromium was found")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())
