"""The error family: one root, stable codes, every member crosses a process border unharmed."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections import defaultdict

import pytest

from inferlake_registry.contract.problems import from_problem, to_problem
from inferlake_sql.errors import InferlakeError

PACKAGES = ("inferlake_sql", "inferlake_registry", "inferlake", "inferlake_serve")


def family() -> list[type[InferlakeError]]:
    for package in PACKAGES:
        root = importlib.import_module(package)
        for module in pkgutil.walk_packages(root.__path__, f"{package}."):
            if module.name.rsplit(".", 1)[-1] in ("errors", "problems"):
                importlib.import_module(module.name)
    found, queue = [], [InferlakeError]
    while queue:
        cls = queue.pop()
        found.append(cls)
        queue += cls.__subclasses__()
    return found


def test_each_code_belongs_to_one_class() -> None:
    owners: dict[str, set[str]] = defaultdict(set)
    for cls in family():
        if "code" in vars(cls):
            owners[cls.code].add(cls.__qualname__)
    assert {code: names for code, names in owners.items() if len(names) > 1} == {}


@pytest.mark.parametrize("cls", family(), ids=lambda cls: cls.__name__)
def test_every_error_survives_pickle_and_http(cls: type[InferlakeError]) -> None:
    error = cls.rebuild("what happened; what to do", {"name": "m", "near": ["n"]})
    for copy in (pickle.loads(pickle.dumps(error)), from_problem(to_problem(error))):
        assert copy.code == cls.code
        assert copy.message == "what happened; what to do"
        assert copy.fields == {"name": "m", "near": ["n"]}
        assert str(copy) == f"[{cls.code}] what happened; what to do"
