// Plays recordings of live views without a kernel: explore.js gets a model whose answers were
// recorded instead of being computed. The page says what is not recorded.

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const recorded = JSON.parse(await new Response(stream).text());
  return { ...recorded, pictures: asPictures(recorded.pictures) };
}

// Unpacks the pictures that in_columns of record.py packed.
function asPictures({ forms, which, columns }) {
  const counts = forms.map(() => 0);
  const fillIn = (form, next) => {
    if (Array.isArray(form)) return form.map((part) => fillIn(part, next));
    return form ? Object.fromEntries(Object.entries(form).map(([name, part]) => [name, fillIn(part, next)])) : next();
  };
  return which.map((k) => {
    const n = counts[k]++;
    let place = 0;
    return fillIn(forms[k], () => columns[k][place++][n]);
  });
}

// All ways to take one element of each list; the last list changes fastest.
const product = (lists) => lists.reduce((ways, list) => ways.flatMap((way) => list.map((x) => [...way, x])), [[]]);
const put = (list, k, x) => list.map((old, n) => (n === k ? x : old));
const isSame = (a, b) => (typeof a === "number" ? Math.abs(a - b) < 1e-9 : JSON.stringify(a) === JSON.stringify(b));
const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
const fromTo = (one, other) => sum([one].flat().map((x, n) => (x - [other].flat()[n]) ** 2));
const rowsThatDiffer = (one, other) => one.map((_, i) => i).filter((i) => !isSame(one[i], other[i]));
const MATRICES = ["cells", "plane", "amounts"];
const BACK = "This combination is not recorded: all but the last change is back at the start.";

// A state has, for each control, the index of its value among the recorded values.
class Recording {
  constructor(recorded, tell) {
    Object.assign(this, { recorded, tell, hear: () => {} });
    this.controls = recorded.controls.map((control) => ({ ...control, full: recorded.full[control.name] }));
    this.start = this.controls.map(({ value, full }) => full.findIndex((x) => isSame(x, value)));
    const every = this.controls.map(({ full }) => full.map((_, place) => place));
    const states = recorded.alone ? every.flatMap((places, k) => places.map((place) => put(this.start, k, place))) : product(every);
    this.states = new Map([...new Set(states.map(String))].map((state, n) => [state, n]));
    this.go(this.start);
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
    this.picture = shown.error ? { ...this.picture, error: shown.error, printed: shown.printed } : shown;
    this.values = this.asked;
  }
  // Goes to the wanted state or the nearest one: the other controls keep their values, or, if only
  // one can be moved at a time, go back to their start.
  change(changes) {
    const isMoved = this.controls.map(({ name }) => name in changes), was = this.values;
    const wanted = this.controls.map(({ name }, k) => changes[name] ?? was[k]);
    const rows = this.controls.map(({ kind }, k) => (MATRICES.includes(kind) ? rowsThatDiffer(was[k], wanted[k]) : []));
    const exact = this.controls.map((_, k) => this.nearest(k, wanted[k])), last = isMoved.lastIndexOf(true);
    this.go(this.states.has(String(exact)) ? exact : put(this.start, last, exact[last]));
    this.tell(this.missing(wanted, rows));
  }
  // The index of the recorded value x; for a matrix, of the nearest one with the changed rows and
  // with the others as at the start.
  nearest(k, x) {
    const { full, kind, value: start } = this.controls[k], same = (one) => full.findIndex((value) => isSame(value, one));
    if (!MATRICES.includes(kind)) return same(x);
    const rows = rowsThatDiffer(this.values[k], x), alone = start.map((row, i) => (rows.includes(i) ? x[i] : row));
    if (kind === "cells") return [x, alone, start].map(same).find((place) => place >= 0);
    const wanted = rows.length ? alone : x, far = full.map((value) => sum(value.map((point, i) => fromTo(point, wanted[i]))));
    return far.indexOf(Math.min(...far));
  }
  // Says that not only what moved last differs from the wanted state; rows: the changed rows of each
  // matrix. That a point moves in steps is said by the note.
  missing(wanted, rows) {
    const isBack = this.controls.some(({ kind }, k) => {
      const other = rowsThatDiffer([this.asked[k]].flat(), [wanted[k]].flat());
      return other.some((i) => !["plane", "amounts"].includes(kind) || !rows[k].includes(i));
    });
    return isBack ? BACK : "";
  }
  shown(turn) {
    const values = Object.fromEntries(this.controls.map(({ name }, k) => [name, this.values[k]]));
    return { ...this.picture, values, turn };
  }
  explanation([k, i, j]) {
    const { columns, cells, told } = this.picture.panels[k], place = i * columns.length + j;
    return { number: cells[place] ?? "", text: told[place] ?? "" };
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
  if (recorded.note) box.append(told, make("p", { className: "note", textContent: recorded.note }));
  box.querySelectorAll(".scroll, .part").forEach(watchBox);
  box.querySelector(".saved").hidden = true;
  box.classList.add("plays");
  box.recording = model;
}

document.querySelectorAll(".live").forEach(playIn);
