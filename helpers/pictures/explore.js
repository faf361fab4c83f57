// The page's half of explore.py: draws the controls once, and puts each picture into tables and canvases.
// Words of the reader enter the page as text only, never as HTML.

const SLOW = 600; // ms without an answer before the page says that Python computes
const WAIT = 15000; // ms without an answer before it says that there may be none
const STEP = 900; // ms for each step of a play
const MANY = 64; // numbers that change at once: from here they are drawn before they are put in
const REST = 60; // ms without another move until they are put in
const PATIENCE = 10; // ms without an answer after Python has begun, until the server is hurried
const NONE = 255; // the colour of a cell that has none
const GONE = "No answer from Python: this picture is not live. If the kernel was restarted, choose Run > Run All Above Selected Cell, then run this cell; if that does not help, reload the page first.";

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

const makeShape = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
const makeButton = (textContent, onclick) => make("button", { type: "button", textContent, onclick });

// Of an element, or of a Text: what changes with every move is a Text, or the browser would
// look for styles again.
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// A text that may be too long for its box, which can then be scrolled with the keyboard too.
function say(node, text) {
  setText(node, text);
  node.tabIndex = text && node.scrollHeight > node.clientHeight ? 0 : -1;
}

// undefined takes an attribute away.
function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
}

const spoken = (name) => name.replaceAll("_", " ");
const inside = (x, low, high) => Math.min(high, Math.max(low, x));
const isPress = ({ key, shiftKey, ctrlKey, metaKey }) => (key === "Enter" || key === " ") && !(shiftKey || ctrlKey || metaKey);
// Saving the notebook and running the cell stay what they are, wherever they are pressed.
const isCommand = ({ key, ctrlKey, metaKey, shiftKey }) =>
  (ctrlKey || metaKey) && key.toLowerCase() === "s" || (ctrlKey || metaKey || shiftKey) && key === "Enter";
const strides = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0] };

// A matrix with [row, column, value] put in.
function edited(matrix, entries) {
  const rows = matrix.map((row) => [...row]);
  for (const [i, j, value] of entries) rows[i][j] = value;
  return rows;
}

// What differs in a matrix, as edited() takes it; anything else as it is.
function edits(old, now) {
  if (!Array.isArray(now)) return now;
  return now.flatMap((row, i) => row.map((value, j) => [i, j, value]).filter(([, j, value]) => value !== old[i][j]));
}

// The children of a box; moving those that are there already would take the focus from them.
function fill(box, nodes) {
  if (nodes.length !== box.children.length || nodes.some((node, k) => node !== box.children[k])) box.replaceChildren(...nodes);
}

const unpack = ({ colours, ...panel }) => ({ ...panel, colours: Uint8Array.from(atob(colours), (c) => c.charCodeAt(0)) });

// Put what Python sends in place of what was shown.
function receive(picture, { panels, ...rest }) {
  Object.assign(picture, rest, { panels: panels.map(unpack) });
}

const digitsOf = (...numbers) => Math.max(...numbers.map((x) => (String(x).split(".")[1] ?? "").length));

// --- controls: each is its row, and functions that move it to a value from elsewhere, stop
// it, or limit it to a highest value ---

// Page Up and Page Down are ten steps, as far as there are so many.
function onPages(input, go) {
  input.addEventListener("keydown", (event) => {
    const ten = { PageUp: 10, PageDown: -10 }[event.key];
    if (!ten) return;
    event.preventDefault();
    go(ten);
    input.dispatchEvent(new Event("input"));
  });
}

function makeControl(control, changed, busy, hint) {
  const id = `explore-${Math.random().toString(36).slice(2)}`;
  const { kind, labels } = control, matrix = kind === "cells" || kind === "plane";
  const label = make(matrix ? "span" : "label", { textContent: spoken(control.name), htmlFor: id });
  const row = make("div", { className: `control ${kind}` }, label);
  if (matrix) {
    const words = { cells: "click a cell, or press Enter on it; ◥ means off", plane: "drag a point, or move it with the arrow keys" };
    row.append(make("span", { id: hint, textContent: words[kind] }));
    return { row };
  }
  const fields = {
    choice: () => make("select", {}, ...labels.map((text, i) => make("option", { value: i, textContent: text }))),
    text: () => make("input", { type: "text", size: inside(control.value.length + 2, 20, 60) }), // in letters
    switch: () => make("input", { type: "checkbox" }),
  };
  if (kind in fields) {
    const input = Object.assign(fields[kind](), { id }), field = kind === "switch" ? "checked" : "value";
    input.addEventListener("input", () => changed(kind === "choice" ? Number(input.value) : input[field]));
    row.append(input);
    if (kind === "choice") onPages(input, (ten) => { input.selectedIndex = inside(input.selectedIndex - ten, 0, labels.length - 1); });
    // writing a text that is already there would move the cursor
    return { row, show: (value) => { if (input[field] !== value) input[field] = value; } };
  }
  const [low, high, by] = labels ? [0, labels.length - 1, 1] : [control.low, control.high, control.by];
  const digits = labels ? 0 : digitsOf(low, high, by);
  const input = make("input", { id, type: "range", min: low, max: high, step: by });
  const said = new Text(), output = make("output", { htmlFor: id }, said);
  if (labels) output.style.minWidth = `${Math.max(...labels.map((text) => text.length))}ch`; // what is beside it stays
  const show = (value) => {
    const words = labels ? labels[value] : Number(value).toFixed(digits);
    input.value = value;
    setText(said, words);
    set(input, { "aria-valuetext": words });
  };
  // the field keeps a value inside its limits
  const move = (value) => { input.value = value; changed(Number(Number(input.value).toFixed(digits))); };
  const limit = (most = high) => { if (input.max !== String(most)) Object.assign(input, { max: most, disabled: most <= low }); };
  input.addEventListener("input", () => move(input.value));
  onPages(input, (ten) => { input.value = Number(input.value) + ten * by; });
  row.append(input, output);
  if (control.name !== "step") return { row, show, limit };
  const { buttons, stop } = makeStepping(input, move, busy);
  row.append(buttons);
  return { row, show, limit, stop };
}

function makeStepping(input, move, busy) {
  let timer = null;
  const last = () => Number(input.value) >= Number(input.max);
  const stop = () => { clearInterval(timer); timer = null; setText(play, "play"); };
  const by = (sign) => move(Number(input.value) + sign * Number(input.step));
  const back = makeButton("back", () => { stop(); by(-1); });
  const next = makeButton("next", () => { stop(); by(1); });
  const play = makeButton("play", () => {
    if (timer) return stop();
    if (last()) move(input.min);
    setText(play, "stop");
    timer = setInterval(() => {
      if (!play.isConnected) return stop();
      if (busy()) return; // show every step, also of a slow function
      by(1);
      if (last()) stop();
    }, STEP);
  });
  input.addEventListener("input", stop);
  return { buttons: make("span", {}, back, play, next), stop };
}

// --- pictures of a panel ---

// Cells of which Python says what became of them: place => {word, kind}, the first word if there are two.
function marksOf({ marked = [] }) {
  const found = new Map();
  for (const [n, [word, places]] of marked.entries()) {
    for (const place of places) if (!found.has(place)) found.set(place, { word, kind: `mark${n}` });
  }
  return found;
}

// Up to 16 by 16: a table with the numbers; built when its size changes, otherwise patched.
function makeTable(palette, { look, press, choose }) {
  const [colours, whiteFrom] = palette;
  const box = make("div", { className: "scroll" }), table = make("table");
  const sketch = makeSketch(box, colours, whiteFrom), resized = new ResizeObserver(sketch.forget);
  let cells = [], shown = [], put = [], heads = [], sides = [], corner, named = "", held = 0, width = 0, late = null;
  box.append(table);

  function build({ rows, columns }) {
    const header = (scope) => (_, k) => {
      const button = choose && makeButton("", () => choose.choose(choose.option(button.textContent, k)));
      return make("th", { scope }, button ?? "");
    };
    corner = make("th", { className: "corner" });
    heads = columns.map(header("col"));
    sides = rows.map(header("row"));
    width = columns.length;
    held = 0;
    cells = rows.flatMap((_row, i) => columns.map((_column, j) => {
      const cell = make("td", { tabIndex: i || j ? -1 : 0 });
      cell.addEventListener("focus", () => {
        cells[held].tabIndex = -1;
        cell.tabIndex = 0;
        held = i * width + j;
        look(i, j);
      });
      cell.addEventListener("mouseenter", () => look(i, j));
      cell.addEventListener("click", () => { look(i, j); press(i, j); });
      return cell;
    }));
    shown = cells.map(() => ({}));
    put = shown;
    sketch.forget();
    resized.disconnect();
    for (const node of [box, ...heads, ...sides]) resized.observe(node);
    table.className = [width > 8 ? "dense" : "", rows.length > 7 ? "tall" : ""].join(" ").trim();
    table.replaceChildren(
      make("thead", {}, make("tr", {}, corner, ...heads)),
      make("tbody", {}, ...rows.map((_, i) => make("tr", {}, sides[i], ...cells.slice(i * width, (i + 1) * width)))),
    );
  }
  table.addEventListener("keydown", (event) => {
    if (event.target.tagName !== "TD") return;
    const step = strides[event.key], [i, j] = [Math.floor(held / width), held % width];
    if (!step && !isPress(event)) return;
    event.preventDefault();
    if (!step && !event.repeat) press(i, j);
    if (step) cells[inside(i + step[0], 0, sides.length - 1) * width + inside(j + step[1], 0, width - 1)].focus();
  });

  function draw(panel) {
    const { rows, columns, size, axes } = panel;
    const built = heads.length !== columns.length || sides.length !== rows.length, words = String([rows, columns]);
    // no picture becomes narrower, or all that is beside it would jump
    if (built && cells.length) box.style.minWidth = `min(100cqw, ${box.offsetWidth}px)`;
    if (built) build(panel);
    else if (named !== words) {
      // nor a column
      const wide = [corner, ...heads].map((node) => [node, node.getBoundingClientRect().width]);
      for (const [node, pixels] of wide) node.style.minWidth = `${pixels}px`;
      sketch.forget();
    }
    named = words;
    setText(corner, [axes[0] && `${axes[0]} ↓`, axes[1] && `${axes[1]} →`].filter(Boolean).join("\n"));
    for (const [nodes, names, count] of [[heads, columns, size[1]], [sides, rows, size[0]]]) names.forEach((name, k) => {
      const button = nodes[k].firstElementChild;
      setText(button ?? nodes[k], name);
      set(nodes[k], { title: name });
      if (!button) return;
      // a query is a row; where there is one row only, its columns name the words
      const query = k < count && (nodes === sides) === (rows.length > 1) ? choose.option(name, k) : null;
      button.disabled = query === null;
      set(button, { "aria-pressed": query === null ? undefined : query === choose.chosen() });
    });
    const lit = new Set(panel.lit), marked = marksOf(panel);
    shown = cells.map((_cell, place) => {
      const text = panel.cells[place], colour = panel.colours[place];
      const sum = Math.floor(place / width) >= size[0] || place % width >= size[1];
      const own = colour === NONE ? "none" : colour >= whiteFrom ? "white" : "";
      const kind = (sum ? "sum" : marked.get(place)?.kind ?? own) + (lit.has(place) ? " lit" : "");
      const changed = !built && shown[place].text !== text; // by the last move: if and only if, a mark stands under it
      return { text, colour, kind, changed };
    });
    clearTimeout(late);
    const many = shown.filter(({ changed }) => changed).length >= MANY;
    const plain = shown.every(({ kind }) => kind === "" || kind === "white"); // a sketch has no more
    if (!many || !plain || table.role || table.contains(document.activeElement)) return patch();
    sketch.draw(cells.slice(0, width), sides, shown);
    late = setTimeout(patch, REST);
  }
  function patch() {
    sketch.remove();
    cells.forEach((cell, place) => {
      const was = put[place], { text, colour, kind, changed } = shown[place];
      if (was.kind !== kind) cell.dataset.kind = kind;
      if (was.colour !== colour) cell.style.backgroundColor = colour === NONE ? "" : colours[colour];
      if (was.text !== text) cell.textContent = text;
      if (was.changed !== changed) cell.classList.toggle("changed", changed);
    });
    put = shown;
  }
  // Cells that are switches: what is on is a selected cell of a grid, also for the style.
  function mark(on, hint) {
    set(table, { role: "grid", "aria-multiselectable": true, "aria-describedby": hint });
    cells.forEach((cell, place) => set(cell, { "aria-selected": on[Math.floor(place / width)]?.[place % width] }));
  }
  return { box, named: table, draw, mark };
}

// The value of a control that this name, the k-th, stands for; null if it is none.
function option({ labels, low, high, by }, word, k) {
  if (!labels) return low + k * by <= high ? low + k * by : null;
  return labels.includes(word) ? labels.indexOf(word) : null;
}

function makeView(model, picture) {
  const list = model.get("controls"), palette = model.get("palette"), title = model.get("title");
  const me = Math.random().toString(36).slice(2); // two views of a widget may ask at once
  const values = { ...picture.values }, pending = new Set(), shows = {}, limits = {}, stops = [];
  const rgba = palette[0].map((c) => 0xff000000 + parseInt(c.slice(5) + c.slice(3, 5) + c.slice(1, 3), 16));
  rgba[NONE] = 0xffffffff;
  const switches = list.find(({ kind }) => kind === "cells");
  const named = (word) => list.find((one) => one.name === word && ["slider", "stops", "choice"].includes(one.kind));
  const heading = named("head"), asking = named("query");
  let panels = [], turn = 0, asked = "", timer = null, slow = null, late = null, watched = null, looking = false;

  const error = make("div", { className: "error", role: "alert" });
  const cell = make("div", { className: "cell", role: "status" });
  const help = make("div", { className: "help", textContent: model.get("help") });
  const captionText = new Text(), caption = make("div", { className: "caption" }, captionText);
  set(caption, { "aria-live": "polite" });
  const printed = make("pre"), hint = `explore-${me}`;
  const said = make("div", { className: "said" }, caption, make("div", { className: "slot" }, error, cell, help), printed);
  const views = make("div", { className: "views" }), heads = make("div", { className: "heads" });
  const rows = make("div", { className: list.length > 6 ? "rows many" : "rows" });
  const fields = make("fieldset", {}, make("div", { className: "columns" }, rows), makeButton("reset", reset));
  fields.lastChild.className = "reset";
  set(fields, { "aria-label": `${title}: controls` });
  let plane = null;
  for (const one of list) {
    const changed = (value) => change(one.name, value);
    const made = makeControl(one, changed, () => timer, hint);
    if (one.kind === "plane") plane = makePlane(one, changed);
    rows.append(made.row);
    shows[one.name] = one.kind === "plane" ? plane.show : one.kind === "cells" ? mark : made.show;
    if (made.limit) limits[one.name] = made.limit;
    if (made.stop) stops.push(made.stop);
  }
  const root = make("div", { className: "explore" }, ...(list.length ? [fields] : []), views);
  // otherwise the notebook takes arrows and letters typed here for its own commands
  root.addEventListener("keydown", (event) => { if (!isCommand(event)) event.stopPropagation(); });
  // Notebook 7 looks at keys before they arrive here, unless the element that has the focus says this
  function suppress(event) {
    if (root.contains(event.target)) event.target.toggleAttribute("data-lm-suppress-shortcuts", !isCommand(event));
  }
  window.addEventListener("keydown", suppress, true);
  for (const left of ["mouseleave", "focusout"]) views.addEventListener(left, () => look(null));

  const choose = asking && {
    option: (word, k) => option(asking, word, k),
    chosen: () => values.query,
    choose: (chosen) => change("query", chosen),
  };
  function makePanel(kind, k) {
    if (kind === "small") {
      const pick = () => {
        const which = k - picture.panels.findIndex(({ small }) => small);
        change("head", option(heading, picture.panels[k].title, which) ?? which);
      };
      const head = makeHead(rgba, heading && pick);
      return { ...head, kind, figure: head.box };
    }
    const on = { look: (i, j) => look(k, i, j), press, choose };
    const made = kind === "table" ? makeTable(palette, on) : makeCanvas(rgba, on);
    const name = make("div", { className: "title" }), low = make("span"), high = make("span"), bar = make("span", { className: "bar" });
    bar.style.background = `linear-gradient(to right, ${palette[0].filter((_, i) => i % 15 === 0).join(",")})`;
    const key = make("div", { className: "key" }, low, bar, high), legend = make("span", { className: "legend" });
    key.append(legend);
    const figure = make("div", { className: "panel" }, name, made.box, key);
    return { ...made, kind, figure, draw(panel) {
      const axes = kind === "canvas" ? `${panel.axes[0]} ↓  ${panel.axes[1]} →` : "";
      setText(name, [panel.title, axes].filter(Boolean).join(": "));
      [low, high].forEach((end, n) => setText(end, panel.scale[n]));
      const words = (panel.marked ?? []).map(([word]) => word);
      if (String(words) !== legend.dataset.words) {
        legend.dataset.words = words;
        legend.replaceChildren(...words.map((word, n) => {
          const sample = make("i");
          sample.dataset.kind = `mark${n}`;
          return make("span", {}, sample, word);
        }));
      }
      set(made.named, { "aria-label": [title, panel.title].filter(Boolean).join(": ") });
      made.draw(panel);
    } };
  }
  function arrange() {
    panels = picture.panels.map((panel, k) => {
      const kind = panel.small ? "small" : panel.cells.length ? "table" : "canvas";
      return panels[k]?.kind === kind ? panels[k] : makePanel(kind, k);
    });
    views.classList.toggle("several", picture.panels.filter(({ small }) => !small).length > 1);
    const large = panels.filter(({ kind }) => kind !== "small").map(({ figure }) => figure);
    const small = panels.slice(large.length).map(({ figure }) => figure);
    // once there were many heads their place stays
    if (heads.children.length !== small.length) heads.style.minHeight = `${heads.getBoundingClientRect().height}px`;
    fill(heads, small);
    fill(views, [...(plane ? [plane.box] : []), ...large, heads, said]);
  }

  // Asked first: while Python computes there is time to show what was chosen.
  function change(which, value) {
    keep(which, value);
    ask();
    shows[which](values[which]);
  }
  function keep(which, value) {
    values[which] = value;
    pending.add(which);
  }
  function reset() {
    for (const free of [...stops, ...Object.values(limits)]) free(); // the start may lie beyond a limit of now
    for (const { name, value } of list) keep(name, value);
    ask();
    for (const { name } of list) shows[name](values[name]);
  }
  function mark(on) {
    panels.forEach((panel) => panel.mark?.(on, hint));
  }
  function press(i, j) {
    const on = switches && values[switches.name][i]?.[j];
    if (on !== undefined) change(switches.name, edited(values[switches.name], [[i, j, !on]]));
  }
  // At most one question is under way; while it is, only the newest values wait.
  function ask() {
    if (timer) return;
    const changes = {};
    for (const which of pending) changes[which] = edits(picture.values[which], values[which]);
    pending.clear();
    asked = `${me} ${++turn}`;
    slow = setTimeout(() => setText(cell, "Python is computing …"), SLOW);
    timer = setTimeout(() => { answered(); say(error, GONE); }, WAIT);
    send({ changes, turn: asked }, { iopub: { status: hurry } });
  }
  // After a restart the connection is closed, and sending throws.
  function send(message, callbacks) {
    try { model.send(message, callbacks); } catch { lost(); }
  }
  function lost() {
    answered();
    pending.clear();
    say(error, GONE);
    fields.disabled = true;
  }
  // The server holds an answer back until the browser has acknowledged that Python has begun
  // (Nagle's algorithm). Often a silent browser does so at once, often 40 ms later: then an empty
  // message does it sooner. Sent at once, it would meet the answer on its way, and cost 4 ms.
  function hurry(message) {
    if (message.content.execution_state === "busy" && timer) late = setTimeout(() => send({}), PATIENCE);
  }
  function answered() {
    clearTimeout(timer);
    clearTimeout(slow);
    clearTimeout(late);
    timer = null;
    if (!watched) say(cell, "");
  }

  function draw() {
    if (picture.turn === asked) answered();
    // an older answer must not pull a control out of the hand that moves it
    const settled = !timer && !pending.size;
    if (settled) Object.assign(values, picture.values);
    fields.disabled = false;
    for (const [name, limit] of Object.entries(limits)) limit(picture.most[name]);
    say(error, picture.error);
    say(printed, picture.printed ? `printed: ${picture.printed}` : "");
    // once there was printing its place stays, or the page would jump with every other value
    if (picture.printed) printed.style.minHeight = `${printed.offsetHeight}px`;
    arrange();
    panels.forEach((panel, k) => panel.draw(picture.panels[k]));
    setText(captionText, picture.caption);
    plane?.call(picture.panels[0] ?? { rows: [] });
    if (settled) for (const one of list) shows[one.name](values[one.name]);
    else if (switches) mark(values[switches.name]);
    looking = false;
    if (watched) look(...(isThere(...watched) ? watched : [null])); // the picture may have shrunk
    if (pending.size) ask();
  }
  const isThere = (k, i, j) => i < picture.panels[k]?.rows.length && j < picture.panels[k].columns.length;

  // Says where a cell is, and asks Python how its number came about: one question at a time.
  function look(k, i, j) {
    watched = k === null ? null : [k, i, j];
    if (!watched) return say(cell, "");
    const panel = picture.panels[k], number = panel.cells[i * panel.columns.length + j];
    const text = where(panel, i, j, number);
    const known = i < panel.size[0] && j < panel.size[1] && (panel.explains || number === undefined);
    // keep an explanation of the same number until the new one is here
    if (!known || !cell.textContent.startsWith(text)) say(cell, text);
    if (known && !looking) {
      looking = true;
      send({ cell: watched });
    }
  }
  function told({ cell: [k, i, j], number, text }) {
    looking = false;
    if (!watched || !isThere(k, i, j)) return;
    if (String([k, i, j]) !== String(watched)) return look(...watched);
    say(cell, where(picture.panels[k], i, j, number) + (text && ` = ${text}`));
  }
  function where(panel, i, j, number) {
    const on = switches && values[switches.name][i]?.[j];
    const state = on === undefined ? "" : `, ${spoken(switches.name)} ${on ? "on" : "off"}`;
    const words = [["row", panel.rows[i]], ["column", panel.columns[j]]].filter(([, name]) => name).map((pair) => pair.join(" ")).join(", ");
    const found = i < panel.size[0] && j < panel.size[1] && marksOf(panel).get(i * panel.columns.length + j);
    return `${words}${state}: ${found ? `${found.word}, ` : ""}${number === "" ? "not computed yet" : number ?? "…"}`;
  }

  // places that were kept are those of another size of the page
  let wide = 0;
  new ResizeObserver(([{ contentRect: { width } }]) => {
    if (wide && width !== wide) root.querySelectorAll("th, .scroll, .heads").forEach((node) => node.removeAttribute("style"));
    wide = width;
  }).observe(root);
  const probe = () => send({ whole: 1 }); // the connection was lost, or is back
  model.on("comm_live_update", probe);
  // where the page knows its kernel (JupyterLab, Notebook 7) it is told when that ends
  const status = model.widget_manager?.kernel?.statusChanged;
  const follow = (_, now) => { if (["dead", "autorestarting", "terminating"].includes(now)) lost(); };
  status?.connect(follow);
  draw();
  return {
    root, draw, told,
    end() {
      answered();
      model.off("comm_live_update", probe);
      status?.disconnect(follow);
      window.removeEventListener("keydown", suppress, true);
    },
  };
}

export default () => {
  const picture = {}, views = new Set(); // of one widget: what it shows, and where
  function hear({ picture: now, ...message }) {
    if (!now) return message.cell && views.forEach((view) => view.told(message));
    receive(picture, now);
    views.forEach((view) => view.draw());
  }
  return {
    initialize({ model }) {
      receive(picture, model.get("picture"));
      model.on("msg:custom", hear);
    },
    render({ model, el }) {
      const view = makeView(model, picture);
      views.add(view);
      el.append(view.root);
      // JupyterLab keeps every model for ever, the model its last view: leave that empty
      return () => { views.delete(view); view.end(); view.root.remove(); };
    },
  };
};
