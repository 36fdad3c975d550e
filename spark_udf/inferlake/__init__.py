"""Inferlake on Spark: ``enable`` a session, call models with ``functions``, route what fails with ``route_rejected``.

Names are loaded when they are used: a worker imports this package too, and must not load a Spark session with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from inferlake.routing.route import Routed, route_rejected
    from inferlake.session import disable, enable
    from inferlake_registry.contract.runs import RunReport as RunSummary

__all__ = ("Routed", "RunSummary", "disable", "enable", "route_rejected")

_HOMES: Final = {
    "Routed": ("inferlake.routing.route", "Routed"),
    "RunSummary": ("inferlake_registry.contract.runs", "RunReport"),
    "disable": ("inferlake.session", "disable"),
    "enable": ("inferlake.session", "enable"),
    "route_rejected": ("inferlake.routing.route", "route_rejected"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
