"""The public names: all there, loaded only when used, typed as they are."""

import subprocess
import sys

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
