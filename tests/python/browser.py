"""A browser without a window, for tests of pages: started once, driven over two pipes in the DevTools protocol."""

import base64
import json
import os
import select
import subprocess
import sys
import time

# The protocol is spoken on descriptors 3 and 4; what is there now may be in the way.
STARTER = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for number, pipe in zip((3, 4), pipes):
    os.dup2(pipe, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A running browser with one page."""

    # As root, in a container, without a network: nothing is sandboxed, nothing asks the outside.
    FLAGS = [
        "--headless", "--no-sandbox", "--no-zygote", "--single-process", "--disable-gpu", "--in-process-gpu",
        "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
        "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--mute-audio",
        "--remote-debugging-pipe",
    ]

    def __init__(self, program, data):
        """Starts it; `data` is an empty folder of its own."""
        from_us, self.to_browser = os.pipe()
        self.from_browser, to_us = os.pipe()
        folder = os.path.dirname(os.path.abspath(program))
        environment = dict(os.environ, HOME=str(data))
        libraries = os.path.join(folder, "lib")
        if os.path.isdir(libraries):
            environment["LD_LIBRARY_PATH"] = libraries
        arguments = [program, *self.FLAGS, f"--user-data-dir={data}", "about:blank"]
        command = [sys.executable, "-c", STARTER, str(from_us), str(to_us), *arguments]
        self.log = open(os.path.join(data, "log"), "w+b")
        self.process = subprocess.Popen(
            command, pass_fds=(from_us, to_us), env=environment, stdout=self.log, stderr=self.log
        )
        os.close(from_us)
        os.close(to_us)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.events = []

    def close(self):
        """Ends it."""
        self.process.kill()
        self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.log.close()

    def said(self):
        """What it wrote, for errors."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-2000:]

    def _message(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise TimeoutError(f"the browser does not answer: {self.said()}")
            part = os.read(self.from_browser, 1 << 16)
            if not part:
                raise RuntimeError(f"the browser ended: {self.said()}")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, timeout=120, **params):
        """A command of the protocol and its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            answer = self._message(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width=1400, height=1000):
        """Shows a page."""
        if not self.session:
            targets = self.call("Target.getTargets")["targetInfos"]
            page = [target for target in targets if target["type"] == "page"]
            target = page[0]["targetId"] if page else self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network"):
                self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=url)
        until = time.monotonic() + 120
        while self.evaluate("document.readyState + ' ' + location.href") != f"complete {url}":
            if time.monotonic() > until:
                raise TimeoutError(f"the page does not load: {self.said()}")
            time.sleep(0.1)

    def evaluate(self, expression):
        """The value of an expression of the page's script."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def move(self, x, y):
        """Moves the pointer."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        """Clicks."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        """Presses a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path):
        """A picture of what the window shows."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
