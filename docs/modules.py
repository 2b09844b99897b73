"""Writes the tables of modules in docs/architecture.md: a row for each module, from the first line of its docstring.

    python docs/modules.py      `make architecture` does it

The rows of a package stand between `<!-- foldline.core -->` and `<!-- end -->`, in alphabetical order; the headings and
all other words are the page's own. Modules are read and never imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src"
NAMES = frozenset({"Anthropic", "Claude", "Codex", "Foldline", "Gemini", "Markdown", "Ollama"})
"""Words that keep their capital at the beginning of a row. Those with another capital or a digit do anyway."""
_TABLE = re.compile(r"(?<=^<!-- )(foldline[\w.]*)( -->\n).*?(?=^<!-- end -->$)", re.M | re.S)


def written(page: str) -> str:
    """The page with its tables as the modules are now. Raises ValueError where a package has no table, or several."""
    marked = sorted(match[1] for match in _TABLE.finditer(page))
    if marked != packages():
        raise ValueError(f"there are tables of {marked}, and packages {packages()}: each needs its marks once")
    return _TABLE.sub(lambda match: "\n".join((match[1] + match[2], *rows(match[1]), "", "")), page)


def packages() -> list[str]:
    """Those that have modules in them."""
    return sorted({".".join(path.parent.relative_to(SOURCE).parts) for path in SOURCE.rglob("*.py")})


def rows(package: str) -> Iterator[str]:
    """The table of a package. An empty `__init__` says nothing, and has no row."""
    yield from ("| module | |", "|---|---|")
    for path in sorted(SOURCE.joinpath(*package.split(".")).glob("*.py")):
        if path.stat().st_size:
            yield f"| `{path.stem}` | {in_row(first_line(path))} |"


def first_line(path: Path) -> str:
    """What a module says that it is. Raises ValueError where that is no whole sentence on one line."""
    line = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]
    if not line.endswith("."):
        raise ValueError(f"{path}: the first line of its docstring has to be one whole sentence")
    return line


def in_row(line: str) -> str:
    """The sentence as a cell of a table: without its full stop, and small at the beginning."""
    found = re.match(r"\w+", line)
    word = found[0] if found else ""
    small = line[:1] if word in NAMES or not (word[1:].islower() or len(word) == 1) else line[:1].lower()
    return (small + line[1:-1]).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
