"""A headless Chromium with one tab at a time, over the DevTools protocol on a pipe: for compare-layout and film."""
import json
import os
import select
import shutil
import subprocess
import time


class Chromium:
    def __init__(self, folder, limit, *arguments):
        """
        folder: where its profile is kept
        limit: the seconds that an answer may take
        arguments: further ones of its command
        """
        names = ("chromium", "chromium-browser", "google-chrome")
        name = next((shutil.which(name) for name in names if shutil.which(name)), None)
        if not name:
            raise SystemExit("there is no chromium: run scripts/setup test")
        self.limit = limit
        (theirs_in, self.output), (self.input, theirs_out) = os.pipe(), os.pipe()

        def numbered():
            # Above the numbers that they get.
            first, second = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [
                name, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile",
                *arguments, "about:blank",
            ],
            preexec_fn=numbered, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.next, self.bytes, self.session = 1, b"", None

    def open(self, url, width, height, scale):
        """Opens a further tab, which what follows is about. Returns the one before."""
        before, self.session = self.session, None
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        return before

    def send(self, method, **parameters):
        message = {"id": self.next, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.next += 1
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        return message["id"]

    def message(self, deadline):
        while b"\0" not in self.bytes:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium gave no answer")
            data = os.read(self.input, 1 << 16)
            if not data:
                raise ConnectionError("Chromium has ended")
            self.bytes += data
        line, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **parameters):
        deadline = time.monotonic() + self.limit
        number = self.send(method, **parameters)
        while True:
            answer = self.message(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]

    def end(self):
        self.session = None
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
