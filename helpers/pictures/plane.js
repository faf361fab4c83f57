// A part of explore.js: vectors in a plane, a button at the head of
// each, dragged or moved with the arrow keys; and points that stay where Python puts them.

// Where a label may stand beside its point, the best places first: [left, top] from there.
const beside = (wide) => [8, 12].flatMap((far) => [
  ...[-9, -17, -1, -21, 4].flatMap((y) => [[far, y], [-far - wide, y]]),
  ...[0.5, 0.25, 0.75].flatMap((part) => [[-wide * part, -17 - far], [-wide * part, far]]),
  [6, -14 - far], [6, far - 2], [-6 - wide, -14 - far], [-6 - wide, far - 2],
]);

// How much two lengths have in common, each from its low end on.
const common = (low, long, other, length) => Math.max(0, Math.min(low + long, other + length) - Math.max(low, other));
const addUp = (sizes) => sizes.reduce((total, size) => total + size, 0);

// The place of each label [left, top], where it covers the fewest labels and points; a point
// is [left, top, width of its label], in a square that has this side.
function placeLabels(points, side) {
  const boxes = [], high = 17;
  const overlap = (x, y, wide, [left, top, width, height]) => common(x, wide, left, width) * common(y, high, top, height);
  const place = ([left, top, wide], k) => {
    const others = (list, size) => addUp(list.map((one, other) => (other === k ? 0 : size(one))));
    const cost = ([x, y]) =>
      (x < 0 || y < 0 || x + wide > side || y + high > side ? 10000 : 0)
      + 3 * others(boxes, (box) => overlap(x, y, wide, box))
      + 2 * others(points, ([a, b]) => overlap(x, y, wide, [a - 6, b - 6, 12, 12]));
    const places = beside(wide).map(([x, y]) => [left + x, top + y]), costs = places.map(cost);
    boxes[k] = [...places[costs.indexOf(Math.min(...costs))], wide, high];
  };
  points.forEach(place);
  return boxes;
}

// Round numbers, two to five on each half of an axis.
function ticksUpTo(limit) {
  const power = 10 ** Math.floor(Math.log10(limit)), part = limit / power;
  const step = power * (part < 2 ? 0.5 : part <= 5 ? 1 : 2);
  return Array.from({ length: Math.floor(limit / step + 1e-9) }, (_, k) => Number(((k + 1) * step).toPrecision(6)));
}

function makeTicks(limit) {
  const part = (y) => inside(50 + y / limit * 50, 2, 97); // those at the edges stay inside
  return ticksUpTo(limit).flatMap((size) => [-size, size]).flatMap((x) => [[x, 0], [0, x]].map(([right, up]) => {
    const tick = make("span", { className: right ? "tick" : "tick upright", textContent: x });
    Object.assign(tick.style, right ? { left: `${part(right)}%` } : { top: `${part(-up)}%` });
    return tick;
  }));
}

function makePlane({ name, limit, value: start, by = limit / 20 }, changed) {
  const box = make("div", { className: "vectors" }), fixed = make("div");
  const [lines, axes, arrows, ends] = ["svg", "path", "path", "path"].map(makeShape);
  const ticks = ticksUpTo(limit).flatMap((x) => [-x, x]), small = limit / 50;
  set(lines, { viewBox: `${-limit} ${-limit} ${2 * limit} ${2 * limit}`, "aria-hidden": true });
  set(box, { role: "group", "aria-label": `${spoken(name)}, each from ${-limit} to ${limit}` });
  set(axes, { class: "axes", d: `M${-limit} 0H${limit}M0 ${-limit}V${limit}`
    + ticks.map((x) => `M${x} ${-small}v${2 * small}M${-small} ${x}h${2 * small}`).join("") });
  set(arrows, { class: "fixed" });
  set(ends, { class: "fixed ends" });
  let value = start, others = [], side = 320;
  new ResizeObserver(() => { side = box.clientWidth || side; show(value); }).observe(box);
  const move = (k, x, y) => {
    const point = [x, y].map((z) => Number(inside(z, -limit, limit).toFixed(2)));
    changed(value.map((old, n) => (n === k ? point : old)));
  };
  const points = start.map((_, k) => {
    const line = makeShape("path"), label = make("span"), head = make("button", { type: "button" }, label);
    head.addEventListener("pointerdown", (event) => head.setPointerCapture(event.pointerId));
    head.addEventListener("pointermove", (event) => {
      if (!head.hasPointerCapture(event.pointerId)) return;
      const { left, top, width, height } = box.getBoundingClientRect();
      move(k, ((event.clientX - left) / width * 2 - 1) * limit, (1 - (event.clientY - top) / height * 2) * limit);
    });
    head.addEventListener("keydown", (event) => {
      const step = strides[event.key];
      if (!step) return;
      event.preventDefault();
      move(k, value[k][0] + step[1] * by, value[k][1] - step[0] * by);
    });
    return { head, label, line };
  });
  lines.append(axes, arrows, ends, ...points.map(({ line }) => line));
  box.append(lines, ...makeTicks(limit), fixed, ...points.map(({ head }) => head));
  const widths = {}; // of labels, each measured once
  function wide(label) {
    const text = label.textContent;
    return widths[text] ||= label.offsetWidth; // 0 as long as it is not in the page
  }
  function show(now) {
    value = now;
    const labels = [...points.map(({ label }) => label), ...fixed.children];
    const spots = [...value, ...others.map(([, x, y]) => [x, y])].map(([x, y], k) =>
      [(1 + x / limit) * side / 2, (1 - y / limit) * side / 2, wide(labels[k])]);
    // translated, which is no shift of the layout
    placeLabels(spots, side).forEach(([left, top], k) => {
      const [x, y] = k < points.length ? spots[k] : [12, 12]; // inside its head, or alone
      labels[k].style.translate = `${left - x + 12}px ${top - y + 12}px`;
    });
    points.forEach(({ head, line }, k) => {
      const [x, y] = value[k];
      set(line, { d: `M0 0L${x} ${-y}` });
      head.style.translate = `${spots[k][0]}px ${spots[k][1]}px`;
      set(head, { "aria-label": `${head.textContent}: ${x.toFixed(2)}, ${y.toFixed(2)}` });
    });
  }
  // The names of the vectors are those of the rows, if they are as many.
  function call({ rows, points: more = [] }) {
    others = more;
    points.forEach(({ label }, k) => setText(label, rows.length === points.length ? rows[k] : String(k)));
    while (fixed.children.length < more.length) fixed.append(make("span"));
    while (fixed.children.length > more.length) fixed.lastChild.remove();
    more.forEach(([word], k) => setText(fixed.children[k], word));
    set(arrows, { d: more.map(([, x, y]) => `M0 0L${x} ${-y}`).join("") });
    set(ends, { d: more.map(([, x, y]) => `M${x} ${-y}h0`).join("") });
  }
  return { box, show, call };
}
