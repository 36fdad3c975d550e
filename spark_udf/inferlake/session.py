"""Switches a Spark session on, and off again."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import Any, Final
from urllib.parse import urlsplit

import pyspark.sql.functions
from pyspark.sql import SparkSession

from inferlake import functions
from inferlake.connection import TOKEN_VARIABLE, URL_VARIABLE, Connection, connect, known, log
from inferlake.embedded import embedded_registry
from inferlake.errors import RegistryOutOfReach
from inferlake.interceptor import intercept, release
from inferlake.output_buffer import restore_output_buffer, shrink_output_buffer
from inferlake.routing.restoring import restore_tables
from inferlake.session_kind import is_connect
from inferlake.shipping import make_zip, shipped_already
from inferlake.spark_errors import leave_errors, translate_errors
from inferlake.sql_functions import register_functions
from inferlake.worker.answer_store import remove_application
from inferlake_registry.client import Client
from inferlake_sql.secret import Secret

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_PATCHED: Final = functions.__all__

_client: Client | None = None
_shipped: set[str] = set()  # applications and sessions that have our zip


def enable(
    spark: SparkSession, registry: str | None = None, token: str | Secret | None = None, patch: bool = True
) -> SparkSession:
    """Make a session call models and run statements about them; return it. Calling it again changes nothing.

    ``registry`` is an address; without it INFERLAKE_REGISTRY_URL, without that an embedded registry is started.
    ``token`` (else INFERLAKE_REGISTRY_TOKEN) reaches the workers by their environment, never in a plan. ``patch=False``
    leaves ``pyspark.sql.functions`` alone: import ``inferlake.functions`` instead.

    Raises RegistryUnreachable, RegistryNotStarted, and RegistryOutOfReach when executors could not reach the registry.
    """
    url = registry or os.environ.get(URL_VARIABLE) or embedded_registry().url
    _check_reach(spark, url)
    connection = _connection(spark, url, _secret(token))
    connect(connection)
    _prepare_workers(spark, _secret(token))
    shrink_output_buffer(spark)
    intercept(type(spark))
    translate_errors()
    if patch:
        for name in _PATCHED:
            setattr(pyspark.sql.functions, name, getattr(functions, name))
    register_functions(spark, connection)
    if isinstance(connection.registry, Client):
        restore_tables(spark, connection.registry)
    return spark


def disable(spark: SparkSession) -> None:
    """Undo ``enable``: Spark's own ``sql`` and functions again. Tables, and an embedded registry, stay."""
    release(type(spark))
    leave_errors()
    for name in _PATCHED:
        if getattr(pyspark.sql.functions, name, None) is getattr(functions, name):
            delattr(pyspark.sql.functions, name)
    for name in ("ai_query", "ai_validate", "try_ai_function", "ai_function"):
        spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}").collect()
    restore_output_buffer(spark)
    connect(None)
    _close_client()


def _close_client() -> None:
    global _client
    if _client is not None:
        _client.close()
        _client = None


def _connection(spark: SparkSession, url: str, token: Secret | None) -> Connection:
    """Return a connection to a registry that answers; the one there is when it is the same."""
    global _client
    before = known()
    if _client is None or before is None or before.url != url.rstrip("/") or token is not None:
        _close_client()
        _client = Client(url, token)
    _client.get("/readyz")
    return Connection(_client, str(spark.conf.get("spark.app.id", "")))


def _secret(token: str | Secret | None) -> Secret | None:
    if isinstance(token, Secret):
        return token
    text = token or os.environ.get(TOKEN_VARIABLE)
    return Secret(text) if text else None


def _prepare_workers(spark: SparkSession, token: Secret | None) -> None:
    """Give the Python workers our code, the driver's interpreter, and the token in their environment."""
    context = _context(spark)
    if context is None:
        _ship_to_server(spark, token)
        return
    conf = context.getConf()
    chosen = os.environ.get("PYSPARK_PYTHON") or conf.get("spark.pyspark.python")
    if not chosen:
        context.pythonExec = sys.executable
    if token is not None:
        context.environment[TOKEN_VARIABLE] = token.reveal()
    application = context.applicationId
    if application in _shipped:
        return
    _shipped.add(application)
    if _is_local(context.master):
        # The answers that this application paid for lie on this host only, and nobody reads them after it.
        atexit.register(remove_application, application)
    elif not shipped_already(conf.get("spark.submit.pyFiles") or ""):
        context.addPyFile(str(make_zip()))


def _ship_to_server(spark: SparkSession, token: Secret | None) -> None:
    session = str(getattr(spark, "session_id", id(spark)))
    if session not in _shipped:
        _shipped.add(session)
        spark.addArtifacts(str(make_zip()), pyfile=True)
    if token is not None and not _is_local(str(spark.conf.get("spark.master", ""))):
        log.warning(
            "A Connect client cannot set the executors' environment: start the server with %s set, or workers cannot "
            "read models' keys.",
            f"spark.executorEnv.{TOKEN_VARIABLE}",
        )


def _check_reach(spark: SparkSession, url: str) -> None:
    """Raise RegistryOutOfReach for a registry on loopback and executors that are, or may come to be, elsewhere."""
    if urlsplit(url).hostname not in _LOOPBACK:
        return
    context = _context(spark)
    if context is None:
        host = _server_host(spark)
        if host is not None and host not in _LOOPBACK:
            raise RegistryOutOfReach(url, f"the Spark Connect server runs on {host}")
        return
    if _is_local(context.master):
        return
    host = urlsplit(context.master).hostname
    if host not in _LOOPBACK:
        raise RegistryOutOfReach(url, f"the executors of {context.master} run elsewhere")


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _context(spark: SparkSession) -> Any:
    """Return the SparkContext of a classic session; None for a Connect session, which has none."""
    if is_connect(spark):
        return None
    return spark.sparkContext


def _server_host(spark: SparkSession) -> str | None:
    host: str | None = None
    with contextlib.suppress(AttributeError):  # not an interface that Spark promises
        host = spark.client.host
    return host
