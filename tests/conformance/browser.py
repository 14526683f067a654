"""A headless Chromium, driven over a pipe by its own protocol: enough for one page."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 30.0


class Page:
    """One tab; `requests` are the addresses that it asked for."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._pending = b""
        self._last = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        self._last += 1
        request = {"id": self._last, "method": method, "params": params}
        if self._session is not None:
            request["sessionId"] = self._session
        os.write(self._send, json.dumps(request).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._last:
                assert "error" not in message, message
                return message["result"]

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._pending:
            ready = select.select([self._receive], [], [], deadline - time.monotonic())[0]
            assert ready, "the browser says nothing"
            chunk = os.read(self._receive, 1 << 20)
            assert chunk, "the browser is gone"
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif message.get("method") in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
            self.errors.append(json.dumps(params))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])

    def open(self, path: Path) -> None:
        self.call("Page.navigate", url=path.as_uri())
        while self.ask("document.readyState") != "complete":
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        made = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in made, made
        return made["result"].get("value")

    def press(self, *keys: str) -> None:
        codes = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Escape": 27}
        for key in keys:
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            fields = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
            self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **fields)
            self.call("Input.dispatchKeyEvent", type="keyUp", **fields)


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A page of a browser whose profile is in `folder`."""
    assert PROGRAM is not None
    to_read, send = os.pipe()
    receive, to_write = os.pipe()
    # The browser reads on descriptor 3 and writes on 4.
    command = (
        f"exec {PROGRAM} --headless=new --no-sandbox --disable-gpu --no-first-run --remote-debugging-pipe "
        f"--disable-background-networking --user-data-dir='{folder}' 3<&{to_read} 4>&{to_write}"
    )
    process = subprocess.Popen(
        ["bash", "-c", command],
        pass_fds=(to_read, to_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        yield Page(send, receive)
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, 9)
        process.wait()
        os.close(send)
        os.close(receive)
