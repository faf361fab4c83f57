"""Measure the time from a key press to the painted picture: python tests/bench_explore.py

Two things in one notebook, in JupyterLab in a real browser, each pressed several times in a row, as
a reader steps through values:
  explore    the live picture of a softmax matrix (n, n): up to 16 a table with numbers in all
             cells, for 64 and above a canvas; and each kind of drawing
  floor      a bare number sent to the kernel and back by the same kind of message, with
             nothing to compute and nothing to draw
A drag is a row of such trips, since at most one question is under way. Ends with code 1 if explore
takes longer than MOST allows. test_live.py checks that the picture is the right one.
"""

import os
import random
import sys
import tempfile
from pathlib import Path
from statistics import mean, median, quantiles

from lab import chromium, jupyterlab, open_notebook, run_all, write

MOST = {6: 1.4, 16: 1.4, 64: 1.5, 512: 3}  # the longest time of explore, in floors, by n
DRAWN = {  # drawings of six words, which may take 1.4 floors each
    "arcs": "Arcs(weights(k)[0], range(6), answers={'a': 0.5, 'b': 0.5}, caption=str(k))",
    "shadow": "Shadow(weights(k), range(6), key=k % 6, caption=str(k))",
    "strip": "Strip(weights(k)[0], range(6), caption=str(k))",
    "blend": "Blend(weights(k)[0], range(6), values=weights(7)[:, :2], caption=str(k))",
    "tiles": "Tiles(T, range(6), heads=T.reshape(6, 2, 3).swapaxes(0, 1), "
    "step=Tiles.steps[k % 3], caption=str(k))",
}
MOST |= dict.fromkeys(DRAWN, 1.4)
# About half of the server's answers, even the bare number's, wait 40 ms for the browser's delayed
# acknowledgement, and all wait up to 17 ms for the next frame. So the times form two clusters, and
# a median falls now into one and now into the other. Means are compared instead.
SERIES = 14  # of each thing, in random order
# If the two took turns, each press would follow a change of the active cell, which keeps JupyterLab
# busy as long as a bare number. So a series counts this many presses, after one it does not count.
IN_A_ROW = 10
TURN = 140  # presses go up to this value, then down again


# A softmax matrix (N, N), different for every k
WEIGHTS = """
import numpy as np
import torch
from helpers import *
T = np.arange(36).reshape(6, 6)

def weights(k):
    i, j = torch.arange(N, dtype=torch.float64)[:, None], torch.arange(N, dtype=torch.float64)
    return torch.softmax(3 * torch.sin(i + 2 * j + 0.3 * k), dim=-1)
"""
# A cell for each thing.
CELLS = {
    "explore": """
explore(lambda k=0: PICTURE, k=(0, 150))
""",
    "floor": '''
import anywidget

class Floor(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
      el.innerHTML = '<input type="range" max="150" value="0"><output>0</output>';
      el.classList.add("floor");
      const [input, output] = el.children;
      el.addEventListener("keydown", (event) => event.stopPropagation());
      input.addEventListener("input", () => model.send({ value: Number(input.value) }));
      model.on("msg:custom", ({ value }) => { output.textContent = value; });
    } };
    """

    def __init__(self):
        super().__init__()
        self.on_msg(lambda _, content, buffers: self.send(content))

Floor()
''',
}

PAGE = r"""
window.bench = {
  box: (kind) => document.querySelector(`.${kind}`),
  slider: (kind) => bench.box(kind).querySelector('input'),
  // the value that a thing shows
  now: (kind) => bench.box(kind).querySelector('.caption, .floor > output').textContent,
  observe(kind, call) {
    const observer = new MutationObserver(call);
    observer.observe(bench.box(kind), { subtree: true, childList: true, characterData: true });
    return observer;
  },
  // When the frame with what is in the page now has been painted.
  painted: () => new Promise((resolve) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(performance.now());
    channel.port2.postMessage(0);
  })),
  // When a thing has come to show a value, and that has been painted.
  until: (kind, value) => new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(Error(
      `${kind} did not show ${value} but ${bench.now(kind)}`)), 20000);
    const observer = bench.observe(kind, async () => {
      if (bench.now(kind) !== String(value)) return;
      observer.disconnect();
      clearTimeout(timer);
      resolve(await bench.painted());
    });
  }),
  // Focus a slider; bench.result will be the milliseconds from the key to the painted frame.
  async arm([kind, value]) {
    bench.slider(kind).focus();
    await bench.painted();
    const pressed = new Promise((resolve) => addEventListener(
      'keydown', (event) => resolve(event.timeStamp), { capture: true, once: true }));
    const arrived = bench.until(kind, value);
    bench.result = Promise.all([pressed, arrived]).then(([from, to]) => to - from);
  },
};
"""


def measure(page, address, path, n):
    """Return {kind: milliseconds of every press}."""
    kinds = [*CELLS]
    picture = DRAWN.get(n, "View(weights(k), caption=str(k))")
    cells = (cell.replace("PICTURE", picture) for cell in CELLS.values())
    write(path, "\n---\n".join([f"N = {6 if n in DRAWN else n}\n{WEIGHTS}", *cells]))
    open_notebook(page, address, path.name)
    run_all(page)
    page.evaluate(PAGE)
    for kind in kinds:
        page.wait_for_function("kind => bench.box(kind) && bench.now(kind) === '0'", arg=kind)
    at, way, times = dict.fromkeys(kinds, 0), {}, {kind: [] for kind in kinds}
    for series in range(-1, SERIES):  # one to warm up
        for kind in random.sample(kinds, len(kinds)):
            for press in range(-1, IN_A_ROW):
                if at[kind] in (0, TURN):
                    way[kind] = 1 if at[kind] == 0 else -1
                at[kind] += way[kind]
                page.evaluate("bench.arm", [kind, at[kind]])
                page.keyboard.press("ArrowRight" if way[kind] == 1 else "ArrowLeft")
                took = page.evaluate("bench.result")
                if series >= 0 and press >= 0:
                    times[kind].append(took)
                page.wait_for_timeout(random.uniform(100, 150))  # not in step with the frames
    return times


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with jupyterlab(folder) as address, chromium(folder, height=2000) as page:
            if page is None:
                sys.exit("No Chromium or Chrome was found.")
            print("load before", *os.getloadavg())
            results = {n: measure(page, address, folder / f"bench{n}.ipynb", n) for n in MOST}
            print("load after", *os.getloadavg())
    return report(results)


def report(results):
    """Print what was measured and which promises hold; return True if one does not."""
    print("\nkey press to painted frame, ms     n     mean   median     90 %  samples")
    broken = 0
    for n, times in results.items():
        for kind, x in times.items():
            high = quantiles(x, n=10, method="inclusive")[-1]
            print(f"{kind:<30}{n:>6}{mean(x):>9.0f}{median(x):>9.0f}{high:>9.0f}{len(x):>9}")
        floors = mean(times["explore"]) / mean(times["floor"])
        broken += floors > MOST[n]
        print(f"explore / floor: {floors:.2f}, at most {MOST[n]}{' BROKEN' * (floors > MOST[n])}")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
