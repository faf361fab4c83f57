// Part of explore.js: what is drawn on canvases.

// Colours only, a pixel for each cell.
function makePainter(rgba, most) {
  const canvas = make("canvas");
  let image = null;
  function paint({ size: [high, wide], colours }) {
    if (!image || image.width !== wide || image.height !== high) {
      const pixels = Math.max(1, Math.floor(most / Math.max(high, wide)));
      Object.assign(canvas, { width: wide, height: high });
      canvas.style.width = `${pixels * wide}px`; // its height follows from its shape, even if this is too wide
      image = new ImageData(wide, high);
    }
    const data = new Uint32Array(image.data.buffer);
    colours.forEach((colour, k) => { data[k] = rgba[colour]; });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }
  return { canvas, paint };
}

// A large matrix: one cell at a time exists, for the keyboard and for screen readers.
function makeCanvas(rgba, { look, press }) {
  const { canvas, paint } = makePainter(rgba, 576);
  const held = make("div", { className: "held", role: "gridcell", tabIndex: 0 }), row = make("div", { role: "row" }, held);
  const box = make("div", { className: "pixels", role: "grid" }, canvas, row);
  let size = [0, 0], at = [0, 0];
  function go(i, j) {
    at = [inside(i, 0, size[0] - 1), inside(j, 0, size[1] - 1)];
    const [high, wide] = size.map((n) => 100 / n);
    Object.assign(held.style, { translate: `${at[1] * 100}% ${at[0] * 100}%`, height: `${high}%`, width: `${wide}%` });
    set(row, { "aria-rowindex": at[0] + 1 });
    set(held, { "aria-colindex": at[1] + 1 });
  }
  function under(event) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const part = [(event.clientY - top) / height, (event.clientX - left) / width];
    return part.map((x, k) => inside(Math.floor(x * size[k]), 0, size[k] - 1));
  }
  box.addEventListener("mousemove", (event) => look(...under(event)));
  box.addEventListener("click", (event) => {
    go(...under(event));
    held.focus({ preventScroll: true });
    look(...at);
    press(...at);
  });
  held.addEventListener("focus", () => look(...at));
  held.addEventListener("keydown", (event) => {
    const step = { ...strides, Home: [0, -size[1]], End: [0, size[1]] }[event.key];
    if (!step && !isPress(event)) return;
    event.preventDefault();
    if (!step) return press(...at);
    go(at[0] + step[0], at[1] + step[1]);
    look(...at);
  });
  function draw(panel) {
    if (String(size) !== String(panel.size)) {
      size = panel.size;
      set(box, { "aria-rowcount": size[0], "aria-colcount": size[1] });
      go(0, 0);
    }
    paint(panel);
    set(held, { "aria-label": `row ${panel.rows[at[0]]}, column ${panel.columns[at[1]]}` });
  }
  return { box, named: box, draw };
}

// A small head: colours only; a button where a head can be chosen.
function makeHead(rgba, pick) {
  const { canvas, paint } = makePainter(rgba, 72);
  const title = make("span"), box = make(pick ? "button" : "div", { className: "head", type: "button", onclick: pick }, title, canvas);
  function draw(panel) {
    setText(title, panel.title);
    set(box, { "aria-current": panel.large });
    paint(panel);
  }
  return { box, draw };
}
