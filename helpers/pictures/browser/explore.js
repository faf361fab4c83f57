// The page's half of explore.py: draws the controls once, and each picture as tables and canvases.
// The reader's words enter the page as text only, never as HTML.

const SLOW = 600; // ms without an answer before the page says that Python computes
const REPEAT = 3000; // ms without an answer before the question is sent again, each time
const WAIT = 15000; // ms without an answer before it says that none may come
const NONE = 255; // the index of a cell without a colour
const GONE = "No answer from Python: this picture is not live. If the kernel was restarted, choose Run > Run All Above Selected Cell, then run this cell; if that does not help, reload the page first.";

const strides = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0] };

// Sets the children of a box; moving children that are already there would take away their focus.
function fill(box, nodes) {
  if (nodes.length !== box.children.length || nodes.some((node, k) => node !== box.children[k])) box.replaceChildren(...nodes);
}

const asBytes = (data) => (data.buffer ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data));

// Replaces the picture by what Python sends. The colours are bytes: a message carries them
// separately, a new page inside the picture.
function receive(picture, { panels, ...rest }, buffers) {
  Object.assign(picture, rest, { panels: panels.map((panel, k) => ({ ...panel, colours: asBytes(buffers?.[k] ?? panel.colours) })) });
}

// Asks Python: one question at a time is open, and only the newest values wait meanwhile. It is sent
// again until it is answered: when a connection comes back, messages and answers can be lost.
function makeTalk(model, { computing, overdue, lost }) {
  const me = Math.random().toString(36).slice(2); // two views of a widget may ask at once
  let turn = 0, asked = "", waiting = {}, slow = null, again = null, late = null;
  const hasWaiting = () => Object.keys(waiting).length > 0;
  // After a restart the connection is closed, and sending throws.
  function send(message) {
    try { model.send(message); } catch { end(); }
  }
  function ask(changes = {}) {
    Object.assign(waiting, changes);
    if (late || !hasWaiting()) return;
    asked = `${me} ${++turn}`;
    const message = { changes: waiting, turn: asked };
    waiting = {};
    slow = setTimeout(() => computing(true), SLOW);
    again = setInterval(() => send(message), REPEAT);
    late = setTimeout(() => { stop(); overdue(); }, WAIT);
    send(message);
  }
  function stop() {
    clearInterval(again);
    [slow, late].forEach(clearTimeout);
    late = null;
    computing(false);
  }
  function end() {
    stop();
    waiting = {};
    lost();
  }
  const hear = (answered) => { if (answered === asked) stop(); };
  return { ask, send, hear, stop, end, isAsking: () => late !== null, isSettled: () => !late && !hasWaiting() };
}

// Names the cell that the reader points at, and asks Python how its number is computed: one
// question at a time.
function makeGuide(picture, send, sayCell, stateOf) {
  let watched = null, isAsking = false;
  const isThere = (k, i, j) => i < picture.panels[k]?.rows.length && j < picture.panels[k].columns.length;
  function where(panel, i, j, number) {
    const names = [["row", panel.rows[i]], ["column", panel.columns[j]]].filter(([, name]) => name);
    if (panel.parts) names.forEach((pair) => pair.shift());
    const isSum = i >= panel.size[0] || j >= panel.size[1];
    const mark = isSum ? undefined : marksOf(panel).get(i * panel.columns.length + j);
    const words = number === "" ? "empty" : number ?? "…";
    return `${names.map((pair) => pair.join(" ")).join(panel.parts ? " → " : ", ")}${stateOf(i, j)}: ${mark ? `${mark.word}, ` : ""}${words}`;
  }
  function look(k, i, j) {
    watched = k === null ? null : [k, i, j];
    if (!watched) return sayCell("");
    const panel = picture.panels[k], number = panel.cells[i * panel.columns.length + j];
    const hasMore = i < panel.size[0] && j < panel.size[1] && (panel.explains || number === undefined);
    sayCell(where(panel, i, j, number), hasMore);
    if (hasMore && !isAsking) {
      isAsking = true;
      send({ cell: watched });
    }
  }
  function told({ cell, number, text }) {
    isAsking = false;
    if (!watched || !isThere(...cell)) return;
    if (String(cell) !== String(watched)) return look(...watched);
    const [k, i, j] = cell;
    sayCell(where(picture.panels[k], i, j, number) + (text && ` = ${text}`));
  }
  // After a new picture, which may be smaller.
  function follow() {
    isAsking = false;
    if (watched) look(...(isThere(...watched) ? watched : [null]));
  }
  return { look, told, follow, isLooking: () => watched !== null };
}

// The words below the picture: the caption, then an error, the explanation of a cell or what can be
// done in the picture, and what was printed.
function makeWords(hints, help) {
  const error = make("div", { className: "error", role: "alert" });
  const cell = make("div", { className: "cell", role: "status" });
  const done = make("span", { id: `explore-${Math.random().toString(36).slice(2)}`, textContent: hints.join(" ") });
  const idle = make("div", { className: "idle" }, done, " ", make("span", { className: "help", textContent: help }));
  const slot = make("div", { className: "slot" }, error, cell, idle);
  const text = new Text(), reached = make("span", { className: "reached" }), printed = make("pre");
  const caption = make("div", { className: "caption" }, text, reached);
  set(caption, { "aria-live": "polite" });
  // it keeps the lines that it once had, or what is below it would jump at every second move
  new ResizeObserver(([{ contentRect: { height } }]) => { caption.style.setProperty("--had", `${Math.floor(height)}px`); }).observe(caption);
  function tell(picture) {
    say(error, picture.error);
    say(printed, picture.printed ? `printed: ${picture.printed}` : "");
    setText(text, picture.caption);
    setText(reached, picture.reached && `✔ ${picture.reached}`);
  }
  // keep an explanation of the same number until the new one is here
  function sayCell(words, hasMore = false) {
    if (!hasMore || !cell.textContent.startsWith(words)) say(cell, words);
  }
  return { box: make("div", { className: "said" }, caption, slot, printed), hint: done.id, tell, sayCell, sayError: (words) => say(error, words) };
}

function makeLegend() {
  const legend = make("span", { className: "legend" });
  function show(words) {
    legend.replaceChildren(...words.map((word, n) => {
      const sample = make("i");
      sample.dataset.kind = `mark${n}`;
      return make("span", {}, sample, word);
    }));
  }
  return { legend, show };
}

// A large panel: its title, a drawing, a table or a canvas, and a key to the colours.
function makePanel(kind, title, palette, rgba, on) {
  const made = kind === "sketch" ? makeSketch(on) : kind === "table" ? makeTable(palette, on) : makeCanvas(rgba, on);
  const name = make("div", { className: "title" }), low = make("span"), high = make("span"), bar = make("span", { className: "bar" });
  bar.style.background = `linear-gradient(to right, ${palette[0].filter((_, i) => i % 15 === 0).join(",")})`;
  const { legend, show } = makeLegend();
  const key = make("div", { className: "key", hidden: kind === "sketch" }, low, bar, high, legend);
  const figure = make("div", { className: "panel" }, name, made.box, key);
  function draw(panel) {
    const axes = kind === "canvas" ? `${panel.axes[0]} ↓  ${panel.axes[1]} →` : "";
    setText(name, [panel.title, axes].filter(Boolean).join(": "));
    [low, high].forEach((end, n) => setText(end, panel.scale[n]));
    show((panel.marked ?? []).map(([word]) => word));
    const by = panel.axes.filter(Boolean).join(" by ");
    set(made.named, { "aria-label": panel.alt ?? ([panel.title, by].filter(Boolean).join(": ") || title) });
    made.draw(panel);
  }
  return { figure, draw, mark: made.mark, renew: made.renew };
}

// All panels: the large ones side by side, and the small heads beside them.
function makeBoard(title, palette, { look, pick, ...rest }) {
  const rgba = palette[0].map((c) => 0xff000000 + parseInt(c.slice(5) + c.slice(3, 5) + c.slice(1, 3), 16));
  rgba[NONE] = 0xffffffff;
  const box = make("div", { className: "views" }), heads = make("div", { className: "heads" });
  let made = [];
  for (const left of ["mouseleave", "focusout"]) box.addEventListener(left, () => look(null));

  function makeOne(kind, k) {
    if (kind !== "small") return makePanel(kind, title, palette, rgba, { look: (i, j) => look(k, i, j), ...rest });
    const head = makeHead(rgba, pick && (() => pick(k)));
    return { ...head, figure: head.box };
  }
  function draw(panels, after) {
    made = panels.map((panel, k) => {
      const kind = panel.small ? "small" : panel.parts ? "sketch" : panel.cells.length ? "table" : "canvas";
      return made[k]?.kind === kind ? made[k] : { ...makeOne(kind, k), kind };
    });
    const figures = (isSmall) => made.filter(({ kind }) => (kind === "small") === isSmall).map(({ figure }) => figure);
    const large = figures(false), small = figures(true);
    box.classList.toggle("several", large.length > 1);
    fill(heads, small);
    fill(box, [...large, heads, after]);
    made.forEach((one, k) => one.draw(panels[k]));
  }
  return { box, draw, mark: (on, hint) => made.forEach((one) => one.mark?.(on, hint)), renew: () => made.forEach((one) => one.renew?.()) };
}

function makeRoot(children, resized) {
  const root = make("div", { className: "explore" }, ...children);
  const leave = keepKeys(root);
  // room that was kept belongs to a different size of the page
  let wide = 0;
  new ResizeObserver(([{ contentRect: { width } }]) => {
    if (wide && width !== wide) root.querySelectorAll("th, .scroll, .caption").forEach((node) => node.removeAttribute("style"));
    if (width !== wide) resized();
    wide = width;
  }).observe(root);
  return { root, leave };
}

// Asks for the picture when the connection comes back, and notices the end of the kernel if the
// page knows it (JupyterLab, Notebook 7).
function watchKernel(model, { back, gone }) {
  const status = model.widget_manager?.kernel?.statusChanged;
  const follow = (_, now) => { if (["dead", "autorestarting", "terminating"].includes(now)) gone(); };
  model.on("comm_live_update", back);
  status?.connect(follow);
  return () => {
    model.off("comm_live_update", back);
    status?.disconnect(follow);
  };
}

// A view of a widget: it shows `picture`, and its controls show `values`.
function makeView(model, picture) {
  const controls = model.get("controls"), title = model.get("title"), values = { ...picture.values };
  const find = (word) => controls.find(({ name, kind }) => name === word && ["slider", "stops", "choice"].includes(kind));
  const switches = controls.find(({ kind }) => kind === "cells"), query = find("query"), head = find("head");
  const hints = controls.flatMap(({ kind }) => HINTS[kind] ?? []);
  const words = makeWords([...new Set(hints)], model.get("help"));
  const talk = makeTalk(model, {
    computing: (isSlow) => { if (isSlow || !guide.isLooking()) words.sayCell(isSlow ? "Python is computing …" : ""); },
    overdue: () => words.sayError(GONE),
    lost: () => { words.sayError(GONE); form.fields.disabled = true; },
  });
  const guide = makeGuide(picture, talk.send, words.sayCell, stateOf);
  const form = makeForm(title, controls, { change, reset, busy: talk.isAsking });
  const board = makeBoard(title, model.get("palette"), {
    look: guide.look, press,
    choose: query && {
      option: (word, k) => option(query, word, k),
      chosen: () => values.query,
      choose: (value) => change("query", value),
    },
    pick: head && pick,
    sets: { may: (word) => optionOf(word) !== null, isChosen: (word) => optionOf(word) === values[word[0]], choose: (word) => change(word[0], optionOf(word)) },
    drags: { value: ([name, k]) => values[name][k], move: drag, step: stepBy },
  });

  function show(changes) {
    form.show(changes);
    board.renew();
    if (switches && switches.name in changes) board.mark(changes[switches.name], words.hint);
  }
  // Ask first: the page can show the choice while Python computes.
  function move(changes) {
    Object.assign(values, changes);
    talk.ask(changes);
    show(changes);
  }
  function change(name, value) {
    move({ [name]: value });
  }
  function reset() {
    form.stop();
    move(Object.fromEntries(controls.map(({ name, value }) => [name, value])));
  }
  // Switches a cell of the picture.
  function press(i, j) {
    const rows = switches && values[switches.name], on = rows?.[i]?.[j];
    if (on !== undefined) change(switches.name, rows.map((row, m) => row.map((old, n) => (m === i && n === j ? !on : old))));
  }
  // The value of a control that belongs to a word of the picture; null without such a value or control.
  function optionOf([name, k, word]) {
    const control = find(name);
    return control ? option(control, word, k) : null;
  }
  // Moves a row of a matrix of numbers by pixels of its drawing.
  function drag([name, k, right, up, ends = []], from, by) {
    const { limit, low = -limit } = controls.find((one) => one.name === name), pixels = [right, up];
    const part = (z, n) => (pixels[n] ? Number(inside(z + by[n] / pixels[n], ...(ends[n] ?? [low, limit])).toFixed(2)) : z);
    const moved = Array.isArray(from) ? from.map(part) : part(from, pixels[0] ? 0 : 1);
    change(name, values[name].map((old, n) => (n === k ? moved : old)));
  }
  function stepBy(what, [right, up]) {
    const [name, k, ...pixels] = what, from = values[name][k];
    const { limit, by = limit / 20 } = controls.find((one) => one.name === name);
    const far = Array.isArray(from) ? [right, up] : [right + up, right + up];
    drag(what, from, far.map((z, n) => z * by * (pixels[n] ?? 0)));
  }
  function stateOf(i, j) {
    const on = switches && values[switches.name][i]?.[j];
    return on === undefined ? "" : `, ${spoken(switches.name)} ${on ? "on" : "off"}`;
  }
  function pick(k) {
    const which = k - picture.panels.findIndex(({ small }) => small);
    change("head", option(head, picture.panels[k].title, which) ?? which);
  }

  function draw() {
    talk.hear(picture.turn);
    // an older answer must not move a control that the reader is dragging
    const isSettled = talk.isSettled();
    if (isSettled) Object.assign(values, picture.values);
    form.fields.disabled = false;
    words.tell(picture);
    board.draw(picture.panels, words.box);
    if (isSettled) show(values);
    else if (switches) board.mark(values[switches.name], words.hint);
    guide.follow();
    talk.ask(); // send the values that wait
  }

  const { root, leave } = makeRoot([...(controls.length ? [form.fields] : []), board.box], board.renew);
  const unwatch = watchKernel(model, { back: () => talk.send({ whole: 1 }), gone: talk.end });
  draw();
  return { root, draw, told: guide.told, end: () => { talk.stop(); unwatch(); leave(); } };
}

export default () => {
  const picture = {}, views = new Set(); // of one widget: what it shows, and its views
  function hear({ picture: now, ...message }, buffers) {
    if (!now) return message.cell && views.forEach((view) => view.told(message));
    receive(picture, now, buffers);
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
      // JupyterLab keeps every model for ever, and a model its last view: leave the view empty
      return () => { views.delete(view); view.end(); view.root.remove(); };
    },
  };
};
