// The page's half of explore.py: draws the controls once and patches the table in place.
// Words of the reader enter the page as text only, never as HTML.

const SLOW = 600; // ms without an answer before the page says that Python computes
const WAIT = 15000; // ms without an answer before it says that there may be none
const GONE = "No answer from Python. If the kernel was restarted, choose Run > Run All Above Selected Cell, then run this cell.";

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function spoken(name) {
  return name.replaceAll("_", " ");
}

// One control: its row, and a function that moves it to a value that came from elsewhere.
function makeControl(control, changed, busy, board) {
  const id = `explore-${Math.random().toString(36).slice(2)}`;
  const { kind, labels } = control;
  const label = make(kind === "cells" ? "span" : "label", { textContent: spoken(control.name), htmlFor: id });
  const row = make("div", { className: `control ${kind}` }, label);
  let input, show;
  if (kind === "cells") {
    const hint = make("span", { id, textContent: "click a cell, or press Enter on it; ◥ means off" });
    const reset = make("button", { type: "button", textContent: "reset", onclick: () => changed(control.value) });
    row.append(make("span", {}, hint, reset));
    board.makeSwitches(id);
    show = board.mark;
  } else if (kind === "choice") {
    input = make("select", { id }, ...labels.map((text, i) => make("option", { value: i, textContent: text })));
    show = (value) => { input.value = value; };
    input.addEventListener("input", () => changed(Number(input.value)));
    row.append(input);
  } else if (kind === "text" || kind === "switch") {
    const field = kind === "text" ? "value" : "checked";
    input = make("input", { id, type: kind === "text" ? "text" : "checkbox" });
    // writing a text that is already there would move the cursor
    show = (value) => { if (input[field] !== value) input[field] = value; };
    input.addEventListener("input", () => changed(input[field]));
    row.append(input);
  } else {
    const [low, high, by] = labels ? [0, labels.length - 1, 1] : [control.low, control.high, control.by];
    const digits = labels ? 0 : Math.max(...[low, high, by].map((x) => (String(x).split(".")[1] ?? "").length));
    const words = (value) => (labels ? labels[value] : Number(value).toFixed(digits));
    input = make("input", { id, type: "range", min: low, max: high, step: by });
    const output = make("output", { htmlFor: id });
    show = (value) => {
      input.value = value;
      setText(output, words(value));
      input.setAttribute("aria-valuetext", words(value));
    };
    // the field keeps a value inside its limits
    const move = (value) => { input.value = value; changed(Number(Number(input.value).toFixed(digits))); };
    input.addEventListener("input", () => move(input.value));
    row.append(input, output);
    if (kind === "step") row.append(makeStepping(input, move, busy));
  }
  show(control.value);
  return { row, show };
}

function makeStepping(input, move, busy) {
  let timer = null;
  const at = () => Number(input.value);
  const last = () => at() >= Number(input.max);
  const play = make("button", { type: "button", textContent: "play" });
  const stop = () => { clearInterval(timer); timer = null; setText(play, "play"); };
  const by = (sign) => move(at() + sign * Number(input.step));
  const back = make("button", { type: "button", textContent: "back", onclick: () => { stop(); by(-1); } });
  const next = make("button", { type: "button", textContent: "next", onclick: () => { stop(); by(1); } });
  play.onclick = () => {
    if (timer) return stop();
    if (last()) move(input.min);
    setText(play, "stop");
    timer = setInterval(() => {
      if (!play.isConnected) return stop();
      if (busy()) return; // show every step, also of a slow function
      by(1);
      if (last()) stop();
    }, 900);
  };
  input.addEventListener("input", stop);
  return make("span", {}, back, play, next);
}

// The table: built when names or shape change, otherwise only changed cells are painted.
function makeTable(palette, look, flip) {
  const [colours, whiteFrom] = palette;
  const table = make("table");
  const painted = new WeakMap(); // cell: its colour, since the style gives it back in other words
  let shape = "", cells = [], heads = [], sides = [], corner, held = [0, 0], on = null;

  function build(rows, columns) {
    corner = make("th", { className: "corner" });
    heads = columns.map(() => make("th", { scope: "col" }));
    sides = rows.map(() => make("th", { scope: "row" }));
    cells = rows.map((_, i) => columns.map((_, j) => {
      const cell = make("td", { tabIndex: i || j ? -1 : 0 });
      cell.addEventListener("focus", () => { hold(i, j); look(i, j); });
      cell.addEventListener("mouseenter", () => look(i, j));
      cell.addEventListener("click", () => flip(i, j));
      return cell;
    }));
    held = [0, 0];
    table.className = columns.length > 16 ? "tiny" : columns.length > 8 ? "dense" : "";
    table.replaceChildren(
      make("thead", {}, make("tr", {}, corner, ...heads)),
      make("tbody", {}, ...cells.map((row, i) => make("tr", {}, sides[i], ...row))),
    );
  }
  function hold(i, j) {
    cells[held[0]][held[1]].tabIndex = -1;
    cells[i][j].tabIndex = 0;
    held = [i, j];
  }
  table.addEventListener("mouseleave", () => look(null));
  table.addEventListener("focusout", () => look(null));
  table.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const target = step && cells[held[0] + step[0]]?.[held[1] + step[1]];
    if (step) event.preventDefault();
    if (target) target.focus();
    const press = (event.key === "Enter" || event.key === " ") && !(event.shiftKey || event.ctrlKey || event.metaKey);
    if (!on || !press) return;
    event.preventDefault();
    if (!event.repeat) flip(...held);
  });

  // Cells that are switches: what is on is a selected cell of a grid, also for the style.
  function makeSwitches(hint) {
    table.setAttribute("role", "grid");
    table.setAttribute("aria-multiselectable", "true");
    table.setAttribute("aria-describedby", hint);
  }
  function mark(value) {
    on = value;
    cells.forEach((row, i) => row.forEach((cell, j) => {
      const state = on[i]?.[j];
      if (state === undefined) cell.removeAttribute("aria-selected");
      else if (cell.getAttribute("aria-selected") !== String(state)) cell.setAttribute("aria-selected", state);
    }));
  }

  function patch(picture) {
    const { rows, columns, highlights } = picture;
    if (shape !== `${rows.length} ${columns.length}`) {
      shape = `${rows.length} ${columns.length}`;
      build(rows, columns);
      if (on) mark(on);
    }
    setText(corner, `${picture.axes[0]} ↓  ${picture.axes[1]} →`);
    columns.forEach((name, j) => { setText(heads[j], name); heads[j].title = name; });
    rows.forEach((name, i) => { setText(sides[i], name); sides[i].title = name; });
    const lit = new Set(highlights.map(([i, j]) => `${i} ${j}`));
    cells.forEach((row, i) => row.forEach((cell, j) => {
      setText(cell, picture.cells[i][j]);
      const index = picture.colours[i]?.[j];
      const kind = index === undefined ? "sum" : index < 0 ? "none" : index >= whiteFrom ? "white" : "";
      const name = lit.has(`${i} ${j}`) ? `${kind} lit` : kind;
      if (cell.className !== name) cell.className = name;
      const colour = index >= 0 ? colours[index] : "";
      if (painted.get(cell) !== colour) {
        painted.set(cell, colour);
        cell.style.backgroundColor = colour;
      }
    }));
  }
  return { table, patch, makeSwitches, mark };
}

// The small heads: colours only, painted in place; buttons where one can be picked.
function makeHeads(colours, pick) {
  const box = make("div", { className: "heads" });
  const rgba = colours.map((c) => 0xff000000 + parseInt(c.slice(5) + c.slice(3, 5) + c.slice(1, 3), 16));
  function patch({ heads, head }) {
    const { children } = box;
    // once there were many their place stays
    if (children.length !== heads.length) box.style.minHeight = `${box.offsetHeight}px`;
    while (children.length > heads.length) box.lastChild.remove();
    while (children.length < heads.length) {
      const k = children.length;
      box.append(make(pick ? "button" : "div", { type: "button", onclick: pick && (() => pick(k)) },
        make("span"), make("canvas")));
    }
    heads.forEach(([title, rows], k) => {
      const [name, canvas] = children[k].children, width = rows[0].length, height = rows.length;
      setText(name, title);
      children[k].setAttribute("aria-current", k === head);
      if (canvas.width !== width || canvas.height !== height) {
        const size = Math.max(1, Math.round(72 / Math.max(width, height)));
        Object.assign(canvas, { width, height });
        Object.assign(canvas.style, { width: `${size * width}px`, height: `${size * height}px` });
      }
      const image = new ImageData(width, height);
      new Uint32Array(image.data.buffer).set(rows.flat().map((index) => rgba[index] ?? 0xffffffff));
      canvas.getContext("2d").putImageData(image, 0, 0);
    });
  }
  return { box, patch };
}

export default {
  render({ model, el }) {
    const values = { ...model.get("picture").values };
    const view = Math.random().toString(36).slice(2); // two views of a widget may ask at once
    let turn = 0, asked = "", waiting = false, timer = null, slow = null, watched = null;

    const error = make("div", { className: "error", role: "alert" });
    const cell = make("div", { className: "cell" });
    cell.setAttribute("role", "status");
    const caption = make("div", { className: "caption" });
    caption.setAttribute("aria-live", "polite");
    const printed = make("pre");
    const low = make("span"), high = make("span"), bar = make("span", { className: "bar" });
    const colours = model.get("palette")[0];
    bar.style.background = `linear-gradient(to right, ${colours.filter((_, i) => i % 15 === 0).join(",")})`;
    const list = model.get("controls");
    const switches = list.find(({ kind }) => kind === "cells");
    const heading = list.find(({ name, kind }) => name === "head" && ["slider", "stops", "choice"].includes(kind));
    const board = makeTable(model.get("palette"), look, flip), { table } = board;
    table.setAttribute("aria-label", model.get("title"));
    const heads = makeHeads(colours, heading && pick);

    const controls = new Map(list.map((control) => [
      control.name, makeControl(control, (value) => set(control.name, value), () => timer, board),
    ]));
    const fields = make("fieldset", {}, ...[...controls.values()].map(({ row }) => row));
    fields.setAttribute("aria-label", `${model.get("title")}: controls`);
    const root = make("div", { className: "explore" },
      make("div", { className: list.length > 6 ? "many" : "" }, fields), error,
      make("div", { className: "views" }, make("div", { className: "scroll" }, table), heads.box),
      make("div", { className: "key" }, low, bar, high), cell, caption, printed);
    // otherwise the notebook takes arrows and letters typed here for its own commands
    root.addEventListener("keydown", (event) => {
      const { key } = event, control = event.ctrlKey || event.metaKey;
      // but saving the notebook and running the cell stay what they are
      const lab = control && key.toLowerCase() === "s" || (control || event.shiftKey) && key === "Enter";
      if (!lab) event.stopPropagation();
    });

    function set(name, value) {
      values[name] = value;
      controls.get(name).show(value);
      ask();
    }
    function flip(i, j) {
      if (isOn(i, j) === undefined) return;
      set(switches.name, values[switches.name].map((row, k) => row.map((on, l) => on !== (k === i && l === j))));
    }
    function isOn(i, j) {
      return switches && values[switches.name][i]?.[j];
    }
    function pick(k) {
      const called = heading.labels?.indexOf(model.get("picture").heads[k][0]);
      set("head", heading.labels ? (called < 0 ? k : called) : heading.low + k * heading.by);
    }
    // At most one question is under way; while it is, only the newest values wait.
    function ask() {
      if (timer) { waiting = true; return; }
      waiting = false;
      asked = `${view} ${++turn}`;
      slow = setTimeout(() => setText(cell, "Python is computing …"), SLOW);
      timer = setTimeout(() => {
        answered();
        setText(error, GONE);
        if (waiting) ask();
      }, WAIT);
      send({ values, turn: asked }, { iopub: { status: hurry } });
    }
    // After a restart the connection is closed, and sending throws.
    function send(message, callbacks) {
      try { model.send(message, callbacks); } catch {
        answered();
        waiting = false;
        setText(error, GONE);
      }
    }
    // The server holds an answer back until the browser has acknowledged what came before it
    // (Nagle's algorithm), and a browser that has nothing to say does so 40 ms later. So when
    // the kernel reports that it began, an empty message brings the acknowledgement along:
    // without it every third key press takes 55 ms instead of 30.
    function hurry(message) {
      if (message.content.execution_state === "busy") send({});
    }
    function answered() {
      clearTimeout(timer);
      clearTimeout(slow);
      timer = null;
      if (!watched) setText(cell, "");
    }
    function draw() {
      const picture = model.get("picture");
      if (picture.turn === asked) answered();
      // an older answer must not pull a control out of the hand that moves it
      if (!timer && !waiting) for (const [name, { show }] of controls) {
        if (name in picture.values) { values[name] = picture.values[name]; show(values[name]); }
      }
      setText(error, picture.error);
      setText(printed, picture.printed ? `printed: ${picture.printed}` : "");
      // once there was printing its place stays, or the page would jump with every other value
      if (picture.printed) printed.style.minHeight = `${printed.offsetHeight}px`;
      if (picture.cells) {
        board.patch(picture);
        heads.patch(picture);
        setText(caption, picture.caption);
        setText(low, picture.scale[0]);
        setText(high, picture.scale[1]);
      }
      // the picture may have shrunk under the mouse
      if (watched) look(...(picture.cells?.[watched[0]]?.[watched[1]] === undefined ? [null] : watched));
      if (waiting && !timer) ask();
    }
    // Says where a cell is, and asks Python how its number came about.
    function look(i, j) {
      watched = i === null ? null : [i, j];
      if (!watched) return setText(cell, "");
      const picture = model.get("picture");
      const text = place(picture, i, j);
      const known = picture.explains && picture.colours[i]?.[j] !== undefined && picture.cells[i][j];
      // keep an explanation of the same number until the new one is here
      if (!known || !cell.textContent.startsWith(text)) setText(cell, text);
      if (known) send({ cell: [i, j] });
    }
    function told(message) {
      if (!watched || String(message.cell) !== String(watched) || !message.text) return;
      setText(cell, `${place(model.get("picture"), ...watched)} = ${message.text}`);
    }
    function place(picture, i, j) {
      const on = isOn(i, j), state = on === undefined ? "" : `, ${spoken(switches.name)} ${on ? "on" : "off"}`;
      return `${picture.rows[i]} · ${picture.columns[j]}${state}: ${picture.cells[i][j] || "not computed yet"}`;
    }
    model.on("change:picture", draw);
    model.on("msg:custom", told);
    draw();
    el.append(root);
    return () => {
      clearTimeout(timer);
      clearTimeout(slow);
      model.off("change:picture", draw);
      model.off("msg:custom", told);
    };
  },
};
