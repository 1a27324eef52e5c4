"""Docstrings of the public interface: parameters, what is returned and raised, and an example that runs.

The checks are those of numpydoc's validation that fit Google's style: PR01, PR02, RT01, EX01 and Raises where
the body raises. Ruff checks the form.
"""

import functools
import inspect
import re

import pytest

import wafer
from wafer import plot, stats

#: Compiled, or data that a function returns whose example shows it.
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


def documented(doc):
    """Returns the parameters of the section `Args`."""
    section = re.search(r"(?m)^Args:\n((?:    .*\n?|\n)+)", f"{doc}\n")
    lines = re.findall(r"(?m)^    (\*{0,2}\w+(?:, \w+)*):", section[1]) if section else []
    return {name.strip("* ") for line in lines for name in line.split(",")}


def test_the_interface_is_seen():
    assert len(PUBLIC) > 120
    assert {"wafer.run", "wafer.Result.waf", "wafer.plot.heatmap", "wafer.Device.replace"} <= PUBLIC.keys()


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring(name):
    item = PUBLIC[name]
    if isinstance(item, (property, functools.cached_property)):
        assert (item.fget if isinstance(item, property) else item.func).__doc__, "no docstring"
        return
    doc = inspect.getdoc(item)
    if not callable(item):  # a field of a class, which its section `Attributes` names
        return
    assert doc, "no docstring"
    assert re.match(r".*?[.:](\s|$)", doc, re.DOTALL), "the summary is no sentence"
    if inspect.isfunction(item):
        signature = inspect.signature(item)
        parameters = set(signature.parameters) - {"self", "cls"}
        assert parameters <= documented(doc), f"undocumented: {parameters - documented(doc)}"
        assert documented(doc) <= parameters, f"no such parameter: {documented(doc) - parameters}"
        if signature.return_annotation not in ("None", None):
            assert re.search(r"(?m)^(Returns|Reads|Yields)\b", doc), "does not say what it returns"
        if re.search(r"\n +raise \w", inspect.getsource(item)):
            assert "\nRaises:\n" in doc, "does not say what it raises"
    if name.count(".") == 1 or name.startswith(("wafer.plot", "wafer.stats")):
        assert (
            ">>>" in doc or name.rpartition(".")[2] in WITHOUT_EXAMPLE or "." in name.partition("stats.")[2]
        ), "no example"
