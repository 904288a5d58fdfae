#!/usr/bin/env python3
"""browser.py PAGE SCRIPT: open PAGE in headless Chromium, run SCRIPT in it, print what it returns as JSON.

Talks the DevTools protocol over a pipe, so that nothing but a browser is needed. SCRIPT is a function body that
may await; besides the page's own names it can call mouse(type, x, y) and key(name) for real input events.
Exceptions and console errors of the page come back as "errors". Exit status 77: no browser here.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class Browser:
    def __init__(self, path):
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        self.home = tempfile.mkdtemp(prefix="gpumemsnap-browser.")

        def pipes():  # the browser reads descriptor 3 and writes 4
            a, b = os.dup(to_read), os.dup(back_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--user-data-dir=" + self.home, "--window-size=1400,1200", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(back_write)
        self.number, self.buffer, self.errors, self.session = 0, b"", [], None

    def read(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("the browser ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def answer(self, number):
        while True:
            m = self.read()
            if m.get("id") == number:
                if "error" in m:
                    raise RuntimeError(m["error"]["message"])
                return m["result"]
            self.event(m)

    def event(self, m):
        p = m.get("params", {})
        if m.get("method") == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.errors.append(d.get("exception", {}).get("description") or d["text"])
        elif m.get("method") == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif m.get("method") == "Runtime.bindingCalled":
            self.input(json.loads(p["payload"]))

    def input(self, what):
        if what["kind"] == "mouse":
            self.call("Input.dispatchMouseEvent", type=what["type"], x=what["x"], y=what["y"], button="left",
                      buttons=0 if what["type"] == "mouseReleased" else what.get("down", 0), clickCount=1)
        else:
            text = what["name"] if len(what["name"]) == 1 else ""
            self.call("Input.dispatchKeyEvent", type="keyDown", key=what["name"], text=text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=what["name"])

    def do(self, method, **params):
        return self.answer(self.call(method, **params))

    def open(self, page):
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.do("Runtime.enable")
        self.do("Page.enable")
        self.do("Performance.enable", timeDomain="threadTicks")
        self.do("Runtime.addBinding", name="probeInput")
        self.do("Page.navigate", url="file://" + os.path.abspath(page))

    def run(self, script):
        helpers = """
            const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            const pause = ms => new Promise(done => setTimeout(done, ms));
            // Until the page has it, however slow the machine; what moves to where it is already never comes.
            const input = async (what, event) => {
                const there = new Promise(done => addEventListener(event, done, { once: true, capture: true }));
                probeInput(JSON.stringify(what));
                await Promise.race([there, pause(10000)]);
                await frame();
            };
            const mouse = (type, x, y, down) => input({ kind: 'mouse', type, x, y, down },
                { mouseMoved: 'mousemove', mousePressed: 'mousedown', mouseReleased: 'mouseup' }[type]);
            const key = name => input({ kind: 'key', name }, 'keyup');
            // On a busy machine a page may take long; what waits longer than this is not busy but stuck.
            for (const end = Date.now() + 120e3; Date.now() < end && document.documentElement?.dataset.ready !== 'true';) await pause(20);
        """
        # A navigation throws the first evaluation's context away: try until the page is there.
        for _ in range(50):
            try:
                result = self.do("Runtime.evaluate", awaitPromise=True, returnByValue=True,
                                 expression="(async () => {%s%s})()" % (helpers, script))
                break
            except RuntimeError as error:
                if "context" not in str(error) and "navigated" not in str(error):
                    raise
        if "exceptionDetails" in result:
            d = result["exceptionDetails"]
            self.errors.append(d.get("exception", {}).get("description") or d["text"])
        value = result["result"].get("value") or {}
        return {**value, "errors": self.errors}

    def work(self):
        """Seconds of processor time of the page's main thread so far."""
        return {m["name"]: m["value"] for m in self.do("Performance.getMetrics")["metrics"]}["TaskDuration"]

    def screenshot(self, path):
        import base64
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def find():
    return next((shutil.which(b) for b in BROWSERS if shutil.which(b)), None)


def main():
    path = find()
    if not path:
        return 77
    browser = Browser(path)
    try:
        with open(sys.argv[2], encoding="utf-8") as f:
            browser.open(sys.argv[1])
            print(json.dumps(browser.run(f.read())))
        if len(sys.argv) > 3:
            browser.screenshot(sys.argv[3])
    finally:
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
