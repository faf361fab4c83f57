// Plays recordings of live views where there is no kernel: a model such as explore.js asks for
// answers, which were recorded in place of being computed. What is not recorded is said.

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const keyOf = (values) => JSON.stringify(values);

// All ways to take one value of each list, the last one fastest.
const product = (lists) => lists.reduce((ways, list) => ways.flatMap((way) => list.map((x) => [...way, x])), [[]]);

function nearest(values, x) {
  if (typeof x !== "number") return values.find((value) => keyOf(value) === keyOf(x));
  return values.reduce((best, value) => (Math.abs(value - x) < Math.abs(best - x) ? value : best));
}

class Recording {
  constructor(recorded, tell) {
    this.recorded = recorded;
    this.tell = tell;
    this.names = recorded.controls.map(({ name }) => name);
    this.start = recorded.controls.map(({ value }) => value);
    this.values = this.start;
    this.known = new Map();
    const add = (values) => { if (!this.known.has(keyOf(values))) this.known.set(keyOf(values), this.known.size); };
    product(this.names.map((name) => recorded.together[name])).forEach(add);
    this.names.forEach((name, k) => recorded.full[name].forEach((value) => add(this.start.with(k, value))));
    this.count = 0;
    this.hear = () => {};
  }
  get(name) {
    return name === "picture" ? this.recorded.start : this.recorded[name];
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
    else if (changes || whole) this.hear({ patch: this.patch(turn ?? "") });
  }
  // The recorded values that are nearest to what is asked for.
  change(changes) {
    const wanted = this.names.map((name, k) => {
      const change = changes[name];
      if (change === undefined) return this.values[k];
      return Array.isArray(change) ? edited(this.values[k], change) : change;
    });
    const { full, together } = this.recorded;
    const single = wanted.map((x, k) => this.nearestOf(full[this.names[k]], x, k, changes));
    const grid = wanted.map((x, k) => this.nearestOf(together[this.names[k]], x, k, changes));
    const moved = this.names.filter((name) => name in changes);
    const alone = single.map((x, k) => (moved.includes(this.names[k]) ? x : this.start[k]));
    this.values = [single, grid, alone].find((values) => this.known.has(keyOf(values)));
    const other = this.names.filter((name, k) => keyOf(this.values[k]) !== keyOf(wanted[k]));
    this.tell(other);
  }
  nearestOf(values, x, k, changes) {
    const start = this.start[k];
    if (!Array.isArray(x)) return nearest(values, x) ?? this.values[k];
    // of a matrix, what was changed last, and the rest as at the start
    const rows = new Set((changes[this.names[k]] ?? []).map(([i]) => i));
    const last = x.map((row, i) => (rows.has(i) || !rows.size ? row : start[i]));
    if (this.recorded.controls[k].kind === "cells") return nearest(values, x) ?? nearest(values, last) ?? start;
    const away = ([p, q], [r, s]) => (p - r) ** 2 + (q - s) ** 2;
    const far = (value) => value.reduce((sum, row, i) => sum + away(row, last[i]), 0);
    return values.reduce((best, value) => (far(value) < far(best) ? value : best), start);
  }
  picture() {
    const { start, where, patches } = this.recorded, picture = {};
    merge(picture, structuredClone(start)); // which the patch would change
    merge(picture, patches[where[this.known.get(keyOf(this.values))]]);
    return picture;
  }
  patch(turn) {
    const picture = this.picture(), own = Object.fromEntries(this.names.map((name, k) => [name, this.values[k]]));
    const panels = picture.panels.map(({ cells, colours, ...names }) => (
      { ...names, cells: { at: null, cells, colours: btoa(String.fromCharCode(...colours)) } }));
    return { ...picture, panels, values: { ...own, ...this.clipped() }, fresh: true, turn, count: ++this.count };
  }
  // Values that the function's result has limited.
  clipped() {
    const { where, patches } = this.recorded;
    return patches[where[this.known.get(keyOf(this.values))]].values;
  }
  explanation([k, i, j]) {
    const panel = this.picture().panels[k], place = i * panel.columns.length + j;
    const texts = this.recorded.explained[where_(this)]?.[k] ?? [];
    return { number: panel.cells[place] ?? "", text: texts[place] ?? "" };
  }
}
const where_ = (recording) => recording.recorded.where[recording.known.get(keyOf(recording.values))];

async function play(box) {
  const recorded = await unpacked(box.querySelector("script").textContent);
  const note = make("p", { className: "note", textContent: recorded.note });
  const told = make("p", { className: "note" });
  set(told, { role: "status" });
  const model = new Recording(recorded, (other) => {
    const shown = other.map((name) => {
      const k = model.names.indexOf(name), value = model.values[k], { labels } = recorded.controls[k];
      return Array.isArray(value) ? `the other ${spoken(name)} as at the start` : `${spoken(name)} ${labels?.[value] ?? value}`;
    });
    setText(told, shown.length ? `Not recorded. Shown instead: ${shown.join(", ")}.` : "");
  });
  const el = make("div"), { initialize, render } = widget();
  initialize({ model });
  box.append(el, ...(recorded.note ? [note, told] : []));
  render({ model, el });
  box.querySelector(".saved").hidden = true;
  box.classList.add("plays");
}

for (const box of document.querySelectorAll(".live")) play(box);
