"""A page in headless Chromium, by the DevTools protocol over a pipe (chromedevtools.github.io/devtools-protocol)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip


def program() -> str | None:
    """Where Chromium is; None where there is none."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


class Page:
    """A file, opened; closed at the end of a `with`."""

    def __init__(self, path: Path, profile: Path, width: int = 1000, height: int = 800) -> None:
        asked, self._write = os.pipe()
        self._read, told = os.pipe()
        # Chromium reads from descriptor 3 and writes to 4.
        shell = f'exec "$0" "$@" 3<&{asked} 4>&{told}'
        flags = (*_FLAGS, f"--user-data-dir={profile}", "about:blank")
        self._process = subprocess.Popen(
            ["bash", "-c", shell, str(program()), *flags],
            pass_fds=(asked, told),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(asked)
        os.close(told)
        self._rest, self._number, self._session = b"", 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.errors: list[str] = []
        for domain in ("Page", "Log", "Runtime"):
            self.call(f"{domain}.enable")
        self.size(width, height)
        self.open(path)

    def __enter__(self) -> Page:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._write)  # which ends it
        self._process.wait()
        os.close(self._read)

    def open(self, path: Path) -> None:
        """Load a file, and wait until it is there."""
        self._go("Page.navigate", url=path.resolve().as_uri())

    def again(self) -> None:
        """Load it once more."""
        self._go("Page.reload")

    def _go(self, method: str, **params: Any) -> None:
        self.js("window.left = true")
        self.call(method, **params)
        while not self.js("!window.left && location.protocol === 'file:' && document.readyState === 'complete'"):
            pass

    def size(self, width: int, height: int) -> None:
        """Set the size of the window."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def media(self, medium: str = "screen", scheme: str = "light") -> None:
        """Set the medium and the colours that the system prefers."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def js(self, expression: str) -> Any:
        """What an expression comes to. Raises RuntimeError where it throws."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", "threw"))
        return found["result"].get("value")

    def key(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """An event of the mouse ("mousePressed", "mouseWheel", ...)."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, path: Path, whole: bool = True) -> None:
        """Write a picture of the page."""
        if whole:
            height = self.js("document.documentElement.scrollHeight")
            self.size(self.js("innerWidth"), min(int(height), 8000))
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol, and wait for what it says."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']['message']}")
                return dict(told["result"])
            if told.get("method") == "Log.entryAdded":
                self.errors.append(told["params"]["entry"]["text"])
            elif told.get("method") == "Runtime.exceptionThrown":
                self.errors.append(told["params"]["exceptionDetails"]["text"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("Chromium ended")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(message))
