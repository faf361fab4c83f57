// Plays recordings of live views where there is no kernel: a model such as explore.js asks for
// answers, which were recorded in place of being computed. What is not recorded is said.

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// All ways to take one of each list, the last one fastest.
const product = (lists) => lists.reduce((ways, list) => ways.flatMap((way) => list.map((x) => [...way, x])), [[]]);
const put = (list, k, x) => list.map((old, n) => (n === k ? x : old));
const isSame = (a, b) => (typeof a === "number" ? Math.abs(a - b) < 1e-9 : JSON.stringify(a) === JSON.stringify(b));
const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
const fromTo = ([a, b], [x, y]) => (a - x) ** 2 + (b - y) ** 2;
const rowsThatDiffer = (one, other) => one.map((_, i) => i).filter((i) => !isSame(one[i], other[i]));
const MATRICES = ["cells", "plane"];

// A state is, for each control, the place of its value among those that were recorded.
class Recording {
  constructor(recorded, tell) {
    Object.assign(this, { recorded, tell, isDragged: false, hear: () => {}, states: new Map() });
    this.controls = recorded.controls.map((control) => ({
      ...control, full: recorded.full[control.name], together: recorded.together[control.name],
      every: recorded.full[control.name].map((_, place) => place),
    }));
    const start = this.controls.map(({ value, full }) => full.findIndex((x) => isSame(x, value)));
    const add = (state) => { if (!this.states.has(String(state))) this.states.set(String(state), this.states.size); };
    product(this.controls.map(({ together }) => together)).forEach(add);
    this.controls.forEach(({ full }, k) => full.forEach((_, place) => add(put(start, k, place))));
    this.start = start;
    this.go(start);
  }
  get(name) {
    return name === "picture" ? this.shown("") : this.recorded[name];
  }
  on(type, hear) {
    if (type === "msg:custom") this.hear = hear;
  }
  off() {}
  send(message) {
    queueMicrotask(() => this.answer(message));
  }
  answer({ changes, turn, whole, cell }) {
    if (changes) this.change(changes);
    if (cell) this.hear({ cell, ...this.explanation(cell) });
    else if (changes || whole) this.hear({ picture: this.shown(turn ?? "") });
  }
  go(state) {
    this.asked = this.controls.map(({ full }, k) => full[state[k]]);
    const shown = this.recorded.pictures[this.states.get(String(state))];
    // after an error the last picture stays
    this.picture = shown.error ? { ...this.picture, error: shown.error, printed: shown.printed } : { ...shown, from: this.asked };
    this.values = this.controls.map(({ name }, k) => (shown.error ? undefined : shown.limited[name]) ?? this.asked[k]);
  }
  // To what is asked for, or what comes nearest: with the other controls as they are, or else
  // at their start.
  change(changes) {
    const isMoved = this.controls.map(({ name }) => name in changes), was = this.values;
    const wanted = this.controls.map(({ name }, k) => changes[name] ?? was[k]);
    const rows = this.controls.map(({ kind }, k) => (MATRICES.includes(kind) ? rowsThatDiffer(was[k], wanted[k]) : []));
    const nearest = (which) => this.controls.map((control, k) => this.nearest(k, control[which], wanted[k], isMoved[k]));
    const exact = nearest("every");
    const isAlone = this.controls.some(({ full, together }, k) => isMoved[k] && together.length === 1 && full.length > 1);
    const alone = exact.map((place, k) => (isMoved[k] ? place : this.start[k]));
    const found = [exact, isAlone ? alone : nearest("together")].find((state) => this.states.has(String(state)));
    // several at once of those that are moved alone: the last one
    const last = isMoved.lastIndexOf(true);
    this.go(found ?? put(this.start, last, exact[last]));
    this.tell(this.missing(wanted, rows));
  }
  // The place of the recorded value that comes nearest to x.
  nearest(k, places, x, isMoved) {
    const { full, kind, value: start } = this.controls[k], was = this.values[k];
    const same = (one) => places.find((place) => isSame(full[place], one));
    const closest = (among, far) => among.reduce((best, place) => (far(full[place]) < far(full[best]) ? place : best), among[0]);
    if (MATRICES.includes(kind)) {
      // the rows that were changed, and the others as at the start
      const rows = rowsThatDiffer(was, x), alone = start.map((row, i) => (rows.includes(i) ? x[i] : row));
      if (kind === "plane") return closest(places, (value) => sum(value.map((point, i) => fromTo(point, (rows.length ? alone : x)[i]))));
      const entries = start.map((row, i) => row.map((old, j) => (x[i][j] === was[i][j] ? old : x[i][j])));
      return same(x) ?? same(alone) ?? same(entries) ?? same(start);
    }
    if (kind === "choice" || kind === "switch") return same(x) ?? this.start[k];
    const place = closest(places, (value) => Math.abs(value - x)), isBeyond = (other) => (full[other] - was) * (x - was) > 0;
    if (this.isDragged || !isMoved || isSame(was, x) || isBeyond(place)) return place;
    // a step, by a key or a button, that is too short to come to another value
    return closest(places.filter(isBeyond), (value) => Math.abs(value - was)) ?? place;
  }
  // A sentence about what is shown in place of what was wanted; rows: of each matrix those that
  // were changed.
  missing(wanted, rows) {
    const other = this.controls.map((_, k) => k).filter((k) => !isSame(this.asked[k], wanted[k]));
    const matrix = other.find((k) => rows[k].length);
    if (!other.length) return "";
    if (matrix !== undefined) {
      const { kind } = this.controls[matrix], shown = this.asked[matrix];
      const isBack = rowsThatDiffer(shown, wanted[matrix]).some((i) => !rows[matrix].includes(i));
      if (isBack) return `On this page one ${kind === "cells" ? "row" : "point"} can be changed at a time: the others are back at their start.`;
      if (kind === "plane") return `Not recorded. The nearest recorded place is shown: (${shown[rows[matrix][0]].map((x) => x.toFixed(2)).join(", ")}).`;
    }
    if (other.length > 3) return "On this page one control can be moved at a time: the others are back at their start.";
    return `Not recorded. Shown instead: ${other.map((k) => this.spoken(k)).join(", ")}.`;
  }
  spoken(k) {
    const { name, kind, labels, low, high, by } = this.controls[k], value = this.asked[k];
    if (Array.isArray(value)) return `${spoken(name)} as at the start`;
    if (kind === "switch") return `${spoken(name)} ${value ? "on" : "off"}`;
    return `${spoken(name)} = ${labels?.[value] ?? value.toFixed(digitsOf(low, high, by))}`;
  }
  shown(turn) {
    const values = Object.fromEntries(this.controls.map(({ name }, k) => [name, this.values[k]]));
    return { ...this.picture, values, turn };
  }
  explanation([k, i, j]) {
    const { columns, cells, told } = this.picture.panels[k], place = i * columns.length + j;
    const numbers = this.picture.from.flat(2);
    // every second part stands for a number among the values: which one, and its digits
    const written = (part) => { const [n, digits] = part.split(" "); return Number(numbers[n]).toFixed(digits); };
    const text = (told[place] ?? "").split("\0").map((part, n) => (n % 2 ? written(part) : part)).join("");
    return { number: cells[place] ?? "", text };
  }
}

async function playIn(box) {
  const recorded = await unpacked(box.querySelector("script").textContent);
  const told = make("p", { className: "instead" });
  set(told, { role: "status" });
  const model = new Recording(recorded, (sentence) => setText(told, sentence));
  const el = make("div"), { initialize, render } = widget();
  initialize({ model });
  box.append(el);
  render({ model, el });
  if (recorded.note) {
    el.querySelector("fieldset").after(told);
    box.append(make("p", { className: "note", textContent: recorded.note }));
  }
  // under a hand a control goes to the nearest value, with a key at least to the next
  box.addEventListener("pointerdown", () => { model.isDragged = true; });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => { model.isDragged = false; });
  box.querySelector(".saved").hidden = true;
  box.classList.add("plays");
  box.recording = model;
}

for (const box of document.querySelectorAll(".live")) {
  playIn(box).catch(() => box.append(make("p", {
    className: "note",
    textContent: "This picture does not move here: the browser is too old for it. One of 2023 or later is needed.",
  })));
}
