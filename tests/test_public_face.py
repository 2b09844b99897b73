"""The public names: all there, loaded only when used, typed as they are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import foldline


def test_every_public_name_is_there():
    for name in foldline.__all__:
        assert getattr(foldline, name) is not None


def test_the_lists_of_names_agree():
    assert sorted(foldline.__all__) == sorted(foldline._HOMES)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fold'"):
        _ = foldline.fold


def test_importing_the_package_loads_no_third_party():
    heavy = ("msgspec", "httpx2", "click", "rich", "splintr")
    code = f"import sys, foldline; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_version_is_the_one_that_is_installed():
    from importlib.metadata import version

    assert foldline.__version__ == version("foldline")


def test_every_error_stands_in_the_tree_that_its_page_draws_and_no_other():
    from foldline import errors

    drawn = set(re.findall(r"\b[A-Z][A-Za-z]+\b", errors.__doc__.split("\n\n")[1])) - {"ValueError"}
    there = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert drawn == there
    for line in re.findall(r"[├└] (.+)", errors.__doc__):
        base, *kinds = re.findall(r"\b[A-Z][A-Za-z]+\b", line)
        for kind in set(kinds) - {"ValueError"}:
            assert issubclass(getattr(errors, kind), getattr(errors, base))


def test_no_error_is_there_that_nobody_uses():
    from foldline import errors

    package = Path(foldline.__file__).parent
    text = "\n".join(path.read_text("utf-8") for path in package.rglob("*.py") if path.name != "errors.py")
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, Exception):
            assert re.search(rf"\b{name}\b", text), name
