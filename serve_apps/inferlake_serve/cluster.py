"""A Ray cluster of this process's own, on this machine alone, with Serve and its HTTP proxy on loopback."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any, Final

from inferlake_serve.errors import ServePortInUse
from inferlake_serve.settings import Accelerator

# Serve's actors and the replica hold next to nothing in it; the default is 30 % of the machine's memory.
_OBJECT_STORE_BYTES: Final = 80_000_000
_SHUTDOWN_SECONDS: Final = 10.0

# Read by Ray's daemons when they start. Nothing is reported to anybody.
_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_SERVE_ENABLE_TASK_EVENTS": "0",
    # Serve's own hook imports ray.llm in each worker before it is asked to; the replica does it anyway.
    "RAYLLM_ENABLE_WORKER_PROCESS_SETUP_HOOK": "0",
}


class LocalCluster:
    """Daemons as children of this process, their files in a folder of their own that goes when they do."""

    def __init__(self, accelerator: Accelerator, folder: Path) -> None:
        self.folder = folder
        os.environ.update(_ENVIRONMENT, TMPDIR=str(folder))
        os.environ.pop("RAY_ADDRESS", None)  # this cluster is never somebody else's
        import ray

        self._ray = ray
        try:
            ray.init(
                address="local",
                # The book-keeping of cores is Ray's, not the kernel's: Serve's actors must find room on one core too.
                num_cpus=max(2, os.cpu_count() or 1),
                num_gpus=0 if accelerator is Accelerator.CPU else None,
                object_store_memory=_OBJECT_STORE_BYTES,
                include_dashboard=False,
                log_to_driver=False,
                # It warns that its tokens are on, which is what we want.
                logging_level=logging.ERROR,
                _temp_dir=str(self.folder),
            )
        except BaseException:
            # Nobody has this object yet, so nobody else can clean up.
            self.stop(keep_files=False)
            raise

    @property
    def logs(self) -> Path:
        """Where Ray, Serve and the engine write."""
        return self.folder / "session_latest" / "logs"

    def start_serve(self, host: str, port: int) -> None:
        """Start Serve's controller and its proxy."""
        from ray import serve

        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(http_options={"host": host, "port": port}, proxy_location="HeadOnly")

    def deploy(self, application: Any, name: str) -> None:
        """Deploy and wait until every replica is up. Raises RuntimeError with the replica's own words."""
        from ray import serve

        try:
            serve.run(application, name=name, route_prefix="/")
        except RuntimeError as error:
            raise RuntimeError(self._cause(name) or str(error)) from error

    def _cause(self, name: str) -> str:
        from ray import serve

        status = serve.status().applications.get(name)
        messages = [] if status is None else [deployment.message for deployment in status.deployments.values()]
        lines = [line.strip() for message in messages for line in message.splitlines() if line.strip()]
        # What follows the last line that names an error is its message, which may go over several lines.
        errors = [at for at, line in enumerate(lines) if line.partition(":")[0].endswith(("Error", "Exception"))]
        return " ".join(lines[errors[-1] if errors else -1 :])[:500].rstrip(" .:")

    def stop(self, *, keep_files: bool) -> None:
        """Let Serve finish what is in flight, then end the daemons. It may be called at any point of the start."""
        from ray import serve

        graceful = Thread(target=serve.shutdown, daemon=True)
        graceful.start()
        graceful.join(_SHUTDOWN_SECONDS)
        self._ray.shutdown()
        if not keep_files:
            shutil.rmtree(self.folder, ignore_errors=True)


def make_folder() -> Path:
    """Return a new folder for a cluster's files.

    Sockets lie in it, and the path of a socket may be 107 characters long: so it is not in the user's own folder.
    """
    return Path(tempfile.mkdtemp(prefix="inferlake-serve-", dir="/tmp"))


def choose_port(host: str, wanted: int | None) -> int:
    """Return a port that is free now: the one wanted, or any for 0; None prefers 8000. Raises ServePortInUse."""
    if wanted is None:
        return 8_000 if _is_free(host, 8_000) else choose_port(host, 0)
    if wanted == 0:
        with socket.socket() as probe:
            probe.bind((host, 0))
            return int(probe.getsockname()[1])
    if not _is_free(host, wanted):
        raise ServePortInUse(host, wanted)
    return wanted


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
