"""The dashboard's own fixtures; the module that holds them also names their types for the tests."""

from dashboard_fixtures import artefacts, browser, empty, hostile, libraries, normal, open_page, own, served

__all__ = ("artefacts", "browser", "empty", "hostile", "libraries", "normal", "open_page", "own", "served")
