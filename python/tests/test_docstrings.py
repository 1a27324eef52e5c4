"""Docstrings of the public interface: numpydoc's checks, return values, and examples that run.

`make check` validates the modules; these tests validate the objects as users reach them.
"""

import functools
import inspect
import re
from pathlib import Path

import pytest
from numpydoc.hooks.validate_docstrings import parse_config
from numpydoc.validate import validate

import wafer
from wafer import plot, stats

#: Compiled objects, and data shown in the example of the function that returns it.
WITHOUT_EXAMPLE = {"Cancel", "ReclaimUnits", "Change", "Mean", "Summary"}


def public():
    """Yields the name of each public function, class and method with the object."""
    for module in (wafer, plot, stats):
        for name in module.__all__:
            item = getattr(module, name)
            if not callable(item) or (inspect.isclass(item) and issubclass(item, Exception)):
                continue
            yield f"{module.__name__}.{name}", item
            for key, member in vars(item).items() if inspect.isclass(item) else ():
                function = getattr(member, "__func__", member)
                if not key.startswith("_"):
                    yield f"{module.__name__}.{name}.{key}", function


PUBLIC = dict(public())
#: The numpydoc checks that the project enables.
CHECKS = parse_config(Path(__file__).parents[2])["checks"]


def test_the_interface_is_seen():
    assert len(PUBLIC) > 120
    assert {"wafer.run", "wafer.Result.waf", "wafer.plot.heatmap", "wafer.Device.replace"} <= PUBLIC.keys()
    assert {"PR01", "PR02", "PR07", "PR08", "PR09", "RT03", "SS03"} <= CHECKS


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_docstring(name):
    item = PUBLIC[name]
    if isinstance(item, (property, functools.cached_property)):
        assert (item.fget if isinstance(item, property) else item.func).__doc__, "no docstring"
        return
    doc = inspect.getdoc(item)
    if not callable(item):  # a field of a class, which its section `Attributes` names
        return
    assert doc, "no docstring"
    if inspect.isfunction(item):
        found = validate(name)["errors"]
        assert not [error for error in found if error[0] in CHECKS]
        if inspect.signature(item).return_annotation not in ("None", None):
            assert re.search(r"(?m)^(Returns|Reads|Yields)\b", doc), "does not say what it returns"
        if re.search(r"\n +raise \w", inspect.getsource(item)):
            assert "\nRaises\n------\n" in doc, "does not say what it raises"
    if name.count(".") == 1 or name.startswith(("wafer.plot", "wafer.stats")):
        assert (
            ">>>" in doc or name.rpartition(".")[2] in WITHOUT_EXAMPLE or "." in name.partition("stats.")[2]
        ), "no example"
