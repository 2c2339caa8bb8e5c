"""A headless Chromium, steered over the pipe of its DevTools protocol with nothing but Python's own library."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"]


class Page:
    """One page in a browser of its own. Complaints of its scripts, and requests that leave the machine, are kept."""

    def __init__(self, width=1280, height=900, touch=False):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        def wire():  # the browser reads commands from 3 and writes answers to 4
            os.dup2(os.dup(to_browser), 63)
            os.dup2(os.dup(from_browser), 64)
            os.dup2(63, 3)
            os.dup2(64, 4)
        self._browser = subprocess.Popen([PROGRAM, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"],
                                         preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._session = b"", 0, None
        self.complaints, self.requests, self.loads = [], [], 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height, touch)

    def close(self):
        """End the browser."""
        try:
            self._session = None
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError):
            pass
        try:
            self._browser.wait(10)
        except subprocess.TimeoutExpired:
            self._browser.kill()
            self._browser.wait()
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    def _receive(self, deadline):
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(message)
        method, what = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(what["exceptionDetails"].get("exception", {}).get("description", what["exceptionDetails"]["text"]))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loads += 1
        return message

    def call(self, method, seconds=60, **parameters):
        """The result of a command of the protocol."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        """Load a file and wait until it has been drawn."""
        loads = self.loads
        self.call("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + 60
        while self.loads == loads:
            self._receive(deadline)
        self.settle()

    def settle(self):
        """Wait until what has been asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", answer["exceptionDetails"]["text"]))
        return answer["result"].get("value")

    def resize(self, width, height, touch=False):
        """The window, as a screen of that many CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=2)

    def media(self, media="screen", scheme="light"):
        """What the page is shown on."""
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def mouse(self, kind, x, y, **more):
        """A movement, press or turn of the wheel at a point of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def key(self, name, text=None):
        """A key, pressed and released."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)
        self.settle()

    def pdf(self):
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
