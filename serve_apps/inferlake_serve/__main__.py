"""``python -m inferlake_serve``: the same as ``inferlake serve``."""

from inferlake_serve.cli import serve
from inferlake_sql.errors import InferlakeError

if __name__ == "__main__":
    try:
        serve(prog_name="inferlake serve")
    except InferlakeError as error:
        raise SystemExit(f"error {error}") from error
