"""How long from a key press to the painted picture: python tests/bench_explore.py

Three things in one notebook, in JupyterLab in a real browser, pressed and dragged in turn:
  explore    the live picture of a softmax matrix (n, n): up to 16 a table with numbers in all
             cells, from 64 a canvas
  floor      a bare number sent to the kernel and back by the same kind of message, with
             nothing to compute and nothing to draw
  interact   ipywidgets.interact that draws the same matrix, with names, a key to the colours
             and, as long as explore has them, numbers in the cells, as a new matplotlib figure
In a drag a value that the kernel has not answered yet would wait behind all those before it;
so floor does what explore does, or it could be beaten by a picture: at most one question is
under way, and of the values that come meanwhile only the newest waits. What is counted is
not answers but painted frames that show another value than the frame before.
A second notebook has two explores: one that is pressed, and one whose function sleeps for a
second, which rests or is being dragged meanwhile.
Ends with code 1 if a promise does not hold: MOST, LEAST, RATE, LAG, BESIDE below, no layout
shift, and a picture that stays where it is while it is dragged.
"""

import inspect
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

import nbformat
import numpy as np
import torch
from lab import ROOT, chromium, jupyterlab, open_notebook, run_all

sys.path.insert(0, str(ROOT))

from helpers.view import View, palette

# The promises, by n where they differ
MOST = {6: 1.2, 16: 1.2, 64: 1.5, 256: 3}  # explore takes at most so many floors
LEAST = {6: 4, 16: 8, 64: 6}  # and is at least so many times faster than interact
RATE = 0.8  # of the floor's updates per second while dragging
LAG = 150, 1.5  # ms from the last input of a drag to its picture, or so many floors
BESIDE = 1.5  # times that it takes alone, while another explore computes

# Many rounds: some answers of the server wait 40 ms for the browser's delayed
# acknowledgement, also the bare number's, and the median of a few presses jumps with that.
# interact, which is slow, takes part in every eighth round only.
ROUNDS, EVERY = 90, 8
WARM = 3  # presses before the rounds that are not counted
DRAGS = 4  # of explore, and of floor
BLOCKS, BLOCK = 4, 15  # presses beside a resting explore, and beside a computing one
NUMBERS = 16  # the largest n with numbers in the cells
LAST = 150  # highest value of all sliders


def weights(k, n):
    """A softmax matrix (n, n) that is another for every k; the notebooks get this source."""
    i, j = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(n, dtype=torch.float64)
    return torch.softmax(3 * torch.sin(i + 2 * j + 0.3 * k), dim=-1)


EXPLORE = """
from helpers.explore import explore

explore(lambda k=0: weights(k, N), k=(0, 150))
"""

LARGE_EXPLORE = """
from helpers import View, explore

explore(lambda k=0: View(weights(k, N), caption=f"k is {k}"), k=(0, 150))
"""

SLEEPER = """
import time

def slow(k=0):
    time.sleep(1)
    return weights(k, N)

explore(slow, k=(0, 150))
"""

FLOOR = '''
import anywidget

class Floor(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
      el.innerHTML = '<input type="range" max="150" value="0"><output>0</output>';
      el.classList.add("floor");
      const [input, output] = el.children;
      let waiting = null, asked = false;
      function ask() {
        if (asked || waiting === null) return;
        asked = true;
        model.send({ value: waiting });
        waiting = null;
      }
      el.addEventListener("keydown", (event) => event.stopPropagation());
      input.addEventListener("input", () => { waiting = Number(input.value); ask(); });
      model.on("msg:custom", ({ value }) => {
        output.textContent = value;
        asked = false;
        ask();
      });
    } };
    """

    def __init__(self):
        super().__init__()
        self.on_msg(lambda _, content, buffers: self.send(content))

Floor()
'''

# The picture carries its value as PNG metadata, so that the page can tell which one it shows.
INTERACT = """
import matplotlib.pyplot as plt
from ipywidgets import interact
from matplotlib_inline.backend_inline import set_matplotlib_formats

mark = {"Title": ""}
set_matplotlib_formats("png", bbox_inches="tight", metadata=mark)

@interact(k=(0, 150))
def draw(k=0):
    mark["Title"] = f"<{k}>"
    fig, ax = plt.subplots()
    matrix = weights(k, N)
    fig.colorbar(ax.imshow(matrix, cmap="Blues", vmin=0, vmax=1))
    ax.set(xlabel="Key", ylabel="Query", xticks=range(N), yticks=range(N))
    if NUMBERS:
        for i in range(N):
            for j in range(N):
                ax.text(j, i, f"{matrix[i, j]:.2f}", ha="center", va="center", fontsize=6)
    plt.show()
"""

PAGE = r"""
window.bench = {
  boxes: { explore: '.explore', floor: '.floor', interact: '.widget-interact' },
  box: (kind) => document.querySelector(bench.boxes[kind]),  // of two explores the first
  slider: (kind) => bench.box(kind).querySelector('input, .noUi-handle'),
  shown: {  // what each thing shows now, as text
    explore(box) {
      const canvas = box.querySelector('canvas');
      if (!canvas) return [...box.querySelectorAll('td')].map((cell) => cell.textContent).join(' ');
      const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let sum = 0;  // of all pixels, each times its place, so that none can be an old one
      new Uint32Array(image.data.buffer).forEach((pixel, place) => {
        sum = (sum + Math.imul(pixel, place + 1)) >>> 0;
      });
      return `${box.querySelector('.caption').textContent}: ${sum}`;
    },
    floor: (box) => box.querySelector('output').textContent,
    interact(box) {
      const image = box.querySelector('img');
      const start = image ? image.src.split(',')[1].slice(0, 400) : '';
      return /Title\0<(\d+)>/.exec(atob(start))?.[1];
    },
  },
  now: (kind) => bench.shown[kind](bench.box(kind)),
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
  // When a thing has come to show the expected text, and that has been painted.
  until: (kind, expected) => new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(Error(
      `${kind} did not show ${expected} but ${bench.now(kind)}`)), 20000);
    const observer = bench.observe(kind, async () => {
      if (bench.now(kind) !== expected) return;
      observer.disconnect();
      clearTimeout(timer);
      if (kind === 'interact') await bench.box(kind).querySelector('img').decode();
      resolve(await bench.painted());
    });
  }),
  // Focus a slider; bench.result will be the milliseconds from the key to the painted frame.
  async arm(kind, expected) {
    if (bench.now(kind) === expected) throw Error(`${kind} shows ${expected} before the key`);
    bench.slider(kind).focus();
    await bench.painted();
    const pressed = new Promise((resolve) => addEventListener(
      'keydown', (event) => resolve(event.timeStamp), { capture: true, once: true }));
    const arrived = bench.until(kind, expected);
    bench.result = Promise.all([pressed, arrived]).then(([from, to]) => to - from);
  },
  set(slider, value) {
    slider.value = value;
    slider.dispatchEvent(new Event('input'));
  },
  // Inputs every 8 ms, up and down below the last value, which is new when it comes.
  hold(slider, last) {
    let inputs = 0;
    const timer = setInterval(() => {
      inputs += 1;
      bench.set(slider, Math.abs((inputs + last - 10) % (2 * last - 20) - (last - 10)));
    }, 8);
    return () => { clearInterval(timer); return inputs; };
  },
  async drag(kind, expected, last) {
    const slider = bench.slider(kind);
    const picture = bench.box(kind).querySelector('table, canvas, output');
    const place = () => {
      const box = picture.getBoundingClientRect();
      return [box.x, box.y, box.width, box.height];
    };
    const before = place();
    let updates = 0, moved = 0, shift = 0, old = bench.now(kind), frame = null;
    // all shifts count, also soon after an input, which the browser would excuse
    const shifts = new PerformanceObserver(
      (list) => list.getEntries().forEach((entry) => { shift += entry.value; }));
    shifts.observe({ type: 'layout-shift' });
    const observer = bench.observe(kind, () => {
      frame ??= requestAnimationFrame(() => {
        frame = null;
        const now = bench.now(kind);
        if (now !== old) updates += 1;
        old = now;
        moved = Math.max(moved, ...place().map((x, i) => Math.abs(x - before[i])));
      });
    });
    const start = performance.now();
    const release = bench.hold(slider, last);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const inputs = release();
    const rate = updates / (performance.now() - start) * 1000;
    const arrived = bench.until(kind, expected);
    const from = performance.now();
    bench.set(slider, last);
    const lag = await arrived - from;
    await new Promise((resolve) => setTimeout(resolve, 300));
    observer.disconnect();
    shifts.disconnect();
    return { inputs, rate, lag, shift, moved };
  },
  // The second explore: drag it without an end, or let go and wait until it has computed.
  async other(busy) {
    const box = document.querySelectorAll('.explore')[1];
    const says = (words) => new Promise((resolve) => {
      const timer = setInterval(() => {
        if ((box.querySelector('.cell').textContent !== '') !== words) return;
        clearInterval(timer);
        resolve();
      }, 20);
    });
    if (busy) bench.release = bench.hold(box.querySelector('input'), 150);
    else bench.release();
    await says(busy);
    // the newest value waited, and takes its second too
    if (!busy) await new Promise((resolve) => setTimeout(resolve, 2500));
  },
};
"""


def write_notebook(path, n, *cells):
    first = f"import torch\n\nN = {n}\nNUMBERS = {n <= NUMBERS}\n\n\n{inspect.getsource(weights)}"
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source.strip()) for source in (first, *cells)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, path)


def expected(kind, k, n):
    """What the page shows when the slider is at k, as bench.shown says it."""
    if kind != "explore":
        return str(k)
    matrix = weights(k, n)
    if n <= NUMBERS:
        return " ".join(f"{x:.2f}" for row in matrix.tolist() for x in row)
    colours = np.array([[int(c[at : at + 2], 16) for at in (1, 3, 5)] for c in palette()[0]])
    red, green, blue = colours[View(matrix).colours()].reshape(-1, 3).T
    pixels = red + (green << 8) + (blue << 16) + (255 << 24)
    return f"k is {k}: {int((pixels * np.arange(1, n * n + 1)).sum() % 2**32)}"


class Presses:
    """Presses the sliders of a page by one step each: press(kind) gives the milliseconds."""

    def __init__(self, page, n, kinds):
        self.page, self.n, self.at = page, n, dict.fromkeys(kinds, 0)
        for kind in kinds:
            for _ in range(WARM):
                self.press(kind)

    def press(self, kind):
        self.at[kind] += 1
        text = expected(kind, self.at[kind], self.n)
        self.page.evaluate("([kind, text]) => bench.arm(kind, text)", [kind, text])
        self.page.keyboard.press("ArrowRight")
        time = self.page.evaluate("bench.result")
        self.page.wait_for_timeout(random.uniform(100, 150))  # not in step with the frames
        return time


def start(page, address, path, parts):
    """Open a notebook, run it, and wait for what it shows."""
    open_notebook(page, address, path.name)
    run_all(page)
    for part in parts:
        page.wait_for_selector(part)
    page.evaluate(PAGE)


def measure(page, address, path, n):
    """({kind: milliseconds of every press}, {kind: what each drag gave})."""
    kinds = ["explore", "floor", *["interact"] * (n in LEAST)]
    cells = [EXPLORE if n <= NUMBERS else LARGE_EXPLORE, FLOOR, *[INTERACT] * (n in LEAST)]
    write_notebook(path, n, *cells)
    shown = {
        "explore": ".explore td" if n <= NUMBERS else ".explore canvas",
        "floor": ".floor output",
        "interact": ".widget-interact img",
    }
    start(page, address, path, [shown[kind] for kind in kinds])
    presses = Presses(page, n, kinds)
    times, drags = {kind: [] for kind in kinds}, {"explore": [], "floor": []}
    for turn in range(ROUNDS):
        for kind in random.sample(kinds, len(kinds)):
            if kind != "interact" or turn % EVERY == 1:
                times[kind].append(presses.press(kind))
    for _ in range(DRAGS):
        for kind in random.sample(list(drags), len(drags)):
            last = [kind, expected(kind, LAST, n), LAST]
            call = "([kind, text, last]) => bench.drag(kind, text, last)"
            drags[kind].append(page.evaluate(call, last))
    return times, drags


def measure_beside(page, address, path):
    """Milliseconds of every press of an explore while another one rests, and computes."""
    write_notebook(path, 6, EXPLORE, SLEEPER)
    start(page, address, path, [".explore td >> nth=36"])
    presses = Presses(page, 6, ["explore"])
    times = {"alone": [], "beside": []}
    for _ in range(BLOCKS):
        for state in random.sample(list(times), 2):
            if state == "beside":
                page.evaluate("bench.other(true)")
            times[state] += [presses.press("explore") for _ in range(BLOCK)]
            if state == "beside":
                page.evaluate("bench.other(false)")
    return times


def load():
    return "  ".join(f"{x:.1f}" for x in os.getloadavg())


def main():
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with jupyterlab(folder) as address, chromium(folder, height=2000) as page:
            if page is None:
                sys.exit("No Chromium or Chrome was found.")
            print(f"load before  {load()}")
            for n in MOST:
                results[n] = measure(page, address, folder / f"bench{n}.ipynb", n)
            beside = measure_beside(page, address, folder / "beside.ipynb")
            print(f"load after   {load()}\n")
    return report(results, beside)


def report(results, beside):
    """Print what was measured and which promises hold; True if one does not."""
    rows = [(kind, n, x) for n, (times, _) in results.items() for kind, x in times.items()]
    print_presses([*rows, *((f"explore, {how}", 6, x) for how, x in beside.items())])
    print_drags({n: drags for n, (_, drags) in results.items()})
    print(f"{'promise':<40}{'measured':>9}")
    broken = 0
    for what, measured, way, bound in promises(results, beside):
        holds = measured <= bound if way == "at most" else measured >= bound
        broken += not holds
        print(f"{what:<40}{measured:>9.2f}   {way:<8} {bound:<5.4g}{'' if holds else '  BROKEN'}")
    print(f"\n{f'{broken} broken.' if broken else 'All promises hold.'}")
    return bool(broken)


def promises(results, beside):
    """Yields (what, measured, "at most" or "at least", bound)."""
    for n, (times, drags) in results.items():
        middle = {kind: statistics.median(values) for kind, values in times.items()}
        yield f"n = {n}: explore / floor", middle["explore"] / middle["floor"], "at most", MOST[n]
        if n in LEAST:
            faster = middle["interact"] / middle["explore"]
            yield f"n = {n}: interact / explore", faster, "at least", LEAST[n]
        rate = {kind: statistics.median(one["rate"] for one in drags[kind]) for kind in drags}
        part = rate["explore"] / rate["floor"]
        yield f"n = {n}: updates in a drag, explore / floor", part, "at least", RATE
        worst = {key: max(one[key] for one in drags["explore"]) for key in drags["explore"][0]}
        most = max(LAG[0], LAG[1] * middle["floor"])
        yield f"n = {n}: last painted after, ms", worst["lag"], "at most", most
        yield f"n = {n}: layout shift in a drag", worst["shift"], "at most", 0
        yield f"n = {n}: picture moved in a drag, px", worst["moved"], "at most", 0
    slower = statistics.median(beside["beside"]) / statistics.median(beside["alone"])
    yield "n = 6: beside a slow explore / alone", slower, "at most", BESIDE


def print_presses(rows):
    print("key press to painted frame, ms       n   median     90 %  samples")
    for kind, n, values in rows:
        high = statistics.quantiles(values, n=10, method="inclusive")[-1]
        middle = statistics.median(values)
        print(f"{kind:<34}{n:>4}{middle:>9.0f}{high:>9.0f}{len(values):>9}")
    print()


def print_drags(results):
    print("drag, 3 s      n   inputs  updates/s  last painted, ms  layout shift  picture moved, px")
    rows = [(kind, n, x) for n, drags in results.items() for kind in drags for x in drags[kind]]
    for kind, n, one in rows:
        print(
            f"{kind:<10}{n:>6}{one['inputs']:>9}{one['rate']:>11.1f}{one['lag']:>18.0f}"
            f"{one['shift']:>14.4f}{one['moved']:>19.1f}"
        )
    print()


if __name__ == "__main__":
    sys.exit(main())
