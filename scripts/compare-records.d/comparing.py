"""Compares two JSON values field by field."""

import json


def differences(old, new, path=""):
    """Yields (path, what is wrong); a path that ends with + is a field that only the new value has."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            where = f"{path}.{key}" if path else key
            if key in new:
                yield from differences(value, new[key], where)
            else:
                yield where, "missing"
        for key in new.keys() - old.keys():
            yield (f"{path}.{key}" if path else key) + "+", ""
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield path, f"{len(old)} entries, now {len(new)}"
        for index, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{path}[{index}]")
    elif type(old) is not type(new) or old != new:
        yield path, f"{brief(old)}, now {brief(new)}"


def brief(value):
    """Returns the value as JSON, truncated to a line."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def without_numbers(path):
    """Turns a[3].b[0] into a[].b[], so that one pattern matches a column."""
    out, inside = [], False
    for character in path:
        if character == "]":
            inside = False
        if not inside:
            out.append(character)
        if character == "[":
            inside = True
    return "".join(out).removeprefix("[].")


def compared(old, new, ignore):
    """Returns the differences that count and the names of added fields."""
    wrong, added = [], set()
    for path, what in differences(old, new):
        name = without_numbers(path.removesuffix("+"))
        if any(name == pattern or name.startswith(pattern + ".") for pattern in ignore):
            continue
        if path.endswith("+"):
            added.add(name)
        else:
            wrong.append((path, what))
    return wrong, added
