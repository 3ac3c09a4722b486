"""A headless Chromium, spoken to over a pipe: what a page asks for, what it says, how it is laid out."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
        if (found := shutil.which(name))
    ),
    None,
)
_FLAGS = (
    "--headless",
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class Tab:
    """One page, and everything that happened on it."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._left, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, page: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a page on a screen of a size."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.send("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def ask(self, expression: str) -> Any:
        """The value of an expression on the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    @property
    def requests(self) -> list[str]:
        """What was asked for, the page itself included."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    @property
    def complaints(self) -> list[Any]:
        """What the console shows, and what went wrong."""
        said = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event.get("method") in said]

    def screenshot(self, target: Path, *, top: int = 0, height: int | None = None) -> None:
        """The page as a picture, all of it or a part."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        high = min(size["height"] - top, height or size["height"])
        clip = {"x": 0, "y": top, "width": size["width"], "height": high, "scale": 1}
        taken = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        target.write_bytes(base64.b64decode(taken["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            more = os.read(self._reading, 1 << 20)
            assert more, "Chromium is gone"
            self._left += more
        text, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """A browser with one tab and nothing of anybody's in it."""
    assert PROGRAM is not None
    to_child, writing = os.pipe()
    reading, from_child = os.pipe()

    def pipes() -> None:
        # Chromium reads from 3 and writes to 4; both are first moved out of each other's way.
        first, second = os.dup(to_child), os.dup(from_child)
        os.dup2(first, 3)
        os.dup2(second, 4)

    with subprocess.Popen(
        [PROGRAM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=pipes,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(to_child)
        os.close(from_child)
        try:
            yield Tab(reading, writing)
        finally:
            os.close(writing)
            process.terminate()
            process.wait(30)
            os.close(reading)
