"""A chat endpoint that costs little CPU (19 µs a call): nginx with Lua, on a free loopback port.

``?ms=50`` answers after 50 milliseconds; with ``&tail=100`` one prompt in a hundred takes a hundred times longer,
always the same ones. A prompt with the word ``odd`` gets an answer that breaks the schema. With ``&times=1`` it
remembers when each request came.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ANSWER: Final = (
    '{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":'
    '{"role":"assistant","content":"{\\\\"label\\\\":LABEL}"},"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":20,"completion_tokens":6,"total_tokens":26}}'
)
_BEFORE, _AFTER = _ANSWER.split("LABEL")

_CONFIGURATION: Final = """
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off;
pid FOLDER/nginx.pid;
error_log FOLDER/nginx.log warn;
worker_processes 1;
worker_rlimit_nofile 20000;
events { worker_connections 8192; }
http {
  access_log off;
  keepalive_requests 10000000;
  keepalive_timeout 300s;
  client_body_buffer_size 256k;
  client_body_temp_path FOLDER/body;
  proxy_temp_path FOLDER/proxy; fastcgi_temp_path FOLDER/fastcgi;
  uwsgi_temp_path FOLDER/uwsgi; scgi_temp_path FOLDER/scgi;
  lua_shared_dict served 32m;
  # Not in Lua: it keeps each text once, and bodies that differ in a digit collide in its table (half of the CPU).
  map $request_body $odd { default 0; "~odd" 1; }
  server {
    listen 127.0.0.1:PORT backlog=4096;
    location = /served { content_by_lua_block {
      local served = ngx.shared.served
      ngx.print(served:get("all") or 0, " ", served:get("slow") or 0)
    } }
    location = /times { content_by_lua_block {
      local served = ngx.shared.served
      while true do
        local at = served:lpop("times")
        if not at then break end
        ngx.print(at, "\\n")
      end
    } }
    location = /v1/chat/completions {
      default_type application/json;
      content_by_lua_block {
        ngx.req.read_body()
        local served = ngx.shared.served
        served:incr("all", 1, 0)
        if ngx.var.arg_times then ngx.update_time(); served:rpush("times", ngx.now()) end
        local ms = tonumber(ngx.var.arg_ms or "0")
        local tail = tonumber(ngx.var.arg_tail or "0")
        if tail > 0 and ngx.crc32_short(ngx.req.get_body_data()) % tail == 0 then
          ms = ms * 100
          served:incr("slow", 1, 0)
        end
        if ms > 0 then ngx.sleep(ms / 1000) end
        local label = '\\\\"normal\\\\"'
        if ngx.var.odd == "1" then label = "7" end
        ngx.print('BEFORE' .. label .. 'AFTER')
      }
    }
  }
}
"""


@dataclass(frozen=True, slots=True)
class Served:
    """How many requests the endpoint has answered since its start, and how many of them slowly."""

    all: int
    slow: int


@dataclass(frozen=True, slots=True)
class BenchEndpoint:
    """A running nginx."""

    origin: str

    def url(self, ms: int, *, tail: int = 0, times: bool = False) -> str:
        """Return the address of the chat API with this latency."""
        options = f"&tail={tail}" * (tail > 0) + "&times=1" * times
        return f"{self.origin}/v1/chat/completions?ms={ms}{options}"

    def served(self) -> Served:
        """Return the counters."""
        every, slow = self._read("served").split()
        return Served(int(every), int(slow))

    def take_times(self) -> list[float]:
        """Return when each request came, in seconds, and forget them."""
        return [float(line) for line in self._read("times").split()]

    def _read(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.origin}/{path}") as answer:
            return str(answer.read().decode())


@contextmanager
def bench_endpoint() -> Iterator[BenchEndpoint]:
    """Run nginx for the length of a ``with``. Raises RuntimeError when it cannot be started."""
    folder = Path(tempfile.mkdtemp(prefix="inferlake-bench-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = _CONFIGURATION.replace("FOLDER", str(folder)).replace("PORT", str(port))
    configuration = folder / "nginx.conf"
    configuration.write_text(text.replace("BEFORE", _BEFORE).replace("AFTER", _AFTER))
    process = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(configuration)])
    endpoint = BenchEndpoint(f"http://127.0.0.1:{port}")
    try:
        _wait(endpoint, process)
        yield endpoint
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _wait(endpoint: BenchEndpoint, process: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        if process.poll() is not None:
            raise RuntimeError("nginx did not start: is it installed with its Lua module (libnginx-mod-http-lua)?")
        try:
            endpoint.served()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("nginx does not answer")
