"""`python -m inferlake_registry`, the same as `inferlake registry`."""

from inferlake_registry.cli import registry

if __name__ == "__main__":
    registry(prog_name="python -m inferlake_registry")
