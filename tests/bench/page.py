#!/usr/bin/env python3
"""page.py [events]: how fast the page of a long recording opens and moves in headless Chromium.

Budgets, for a million events: everything drawn within two seconds, a frame within 16 ms, 25 MB. The browser draws
without a GPU. What counts here is the processor time of the page's main thread, which a busy machine does not
stretch much; the times by the clock stand beside it. What the browser itself takes for a file of that size is
measured with the same file whose script does nothing, opened first: by then the browser has started, too.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile

from read_json import write

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../html"))
import browser

STEPS = 30
MOVES = {
    "zoom in": "t.zoom(.8, t.from + (t.to - t.from) * .4)",
    "pan": "t.pan(k % 20 < 10 ? .1 : -.1)",
    "zoom out": "t.zoom(1.25, t.from + (t.to - t.from) * .6)",
    "pan, half of it": "t.setRange(all * k / 60, all * (.5 + k / 60))",
    "nothing": "",
}


IDLE = """<script>addEventListener('DOMContentLoaded', () => {
    document.documentElement.dataset.ready = 'true';
    requestAnimationFrame(() => performance.mark('drawn'));
});</script>"""


def idle(page):
    """The same file with a script that does nothing."""
    path = page + ".idle.html"
    with open(page, encoding="utf-8") as f, open(path, "w", encoding="utf-8") as to:
        to.write(re.sub("<script>.*?</script>", lambda _: IDLE, f.read(), flags=re.S))
    return path


def times(b, page):
    """Seconds of work, and by the clock until the first picture and until everything was drawn."""
    b.open(page)
    marks = b.run("""while (!performance.getEntriesByName('drawn').length) await pause(20);
        const at = name => (performance.getEntriesByName(name)[0] || { startTime: 0 }).startTime / 1e3;
        return { sketched: at('sketched'), drawn: at('drawn') };""")
    return b.work(), marks["sketched"], marks["drawn"]


def start(page, empty):
    """The page, opened, and both its times."""
    b = browser.Browser(browser.find())
    times(b, empty)
    before = times(b, empty)
    return b, before + times(b, page)


def move(b, what):
    before = b.work()
    seen = b.run("""const t = app.timeline, all = t.file.to - t.file.from, start = performance.now();
        for (let k = 0; k < %d; k++) { %s; await new Promise(done => requestAnimationFrame(done)); }
        return { clock: performance.now() - start };""" % (STEPS, what))
    return (b.work() - before) / STEPS * 1e3, seen["clock"] / STEPS


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    program = os.path.join(os.environ.get("B", "build"), "bin", "gpumemsnap")
    if not browser.find():
        print("no Chromium or Chrome here")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path, page = os.path.join(folder, "s.json"), os.path.join(folder, "s.html")
        write(path, events)
        subprocess.run([program, "html", path, "-o", page], check=True)
        size = os.path.getsize(page)
        opened, empty = [], idle(page)
        for _ in range(3):
            b, seen = start(page, empty)
            opened.append(seen)
            if len(opened) < 3:
                b.close()
        work, _, drawn, *own = map(statistics.median, zip(*opened))
        print("%.1f MB for %d events; the browser alone: %.2f s of work, %.2f s by the clock" % (size / 1e6, events, work, drawn))
        print("opened by %.2f s of work; by the clock the first picture after %.2f s, all after %.2f s" % tuple(own))
        for mode in "bands", "places":
            b.run("document.querySelector('[data-view=\"%s\"]').click(); app.timeline.all(); await frame();" % mode)
            for name, what in MOVES.items():
                print("%-7s %-16s %5.1f ms of work a frame; a frame every %5.1f ms" % (mode, name, *move(b, what)))
        errors = b.errors
        b.close()
    if errors:
        sys.exit("\n".join(errors))
    return size > 25 * max(events, 1e6)


if __name__ == "__main__":
    sys.exit(main())
