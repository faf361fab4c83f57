// Plays recordings of live views where there is no kernel: a model such as explore.js asks for
// answers, which were recorded in place of being computed. What is not recorded is said.

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// The n-th of the things that shared() in record.py has packed.
function taken(node, n) {
  if ("all" in node) return node.all;
  if ("each" in node) return node.of_few ? node.of_few[node.each[n]] : node.each[n];
  if ("items" in node) return node.items.slice(0, taken(node.long, n)).map((item) => taken(item, n));
  return Object.fromEntries(Object.entries(node.of).map(([key, one]) => [key, taken(one, n)]));
}

// All ways to take one of each list, the last one fastest.
const product = (lists) => lists.reduce((ways, list) => ways.flatMap((way) => list.map((x) => [...way, x])), [[]]);
const put = (list, k, x) => list.map((old, n) => (n === k ? x : old));
const isSame = (a, b) => (typeof a === "number" ? Math.abs(a - b) < 1e-9 : JSON.stringify(a) === JSON.stringify(b));
const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
const fromTo = ([a, b], [x, y]) => (a - x) ** 2 + (b - y) ** 2;

// A state is, for each control, the place of its value among those that were recorded.
class Recording {
  constructor(recorded, tell) {
    Object.assign(this, { recorded, tell, isDragged: false, hear: () => {}, states: new Map() });
    this.controls = recorded.controls.map((control) => ({
      ...control, full: recorded.full[control.name], together: recorded.together[control.name],
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
    const shown = taken(this.recorded.pictures, this.states.get(String(state)));
    if (shown.error) { // the last picture stays
      this.picture = { ...this.picture, error: shown.error, printed: shown.printed };
      this.values = this.asked;
    } else {
      this.picture = { ...shown, from: this.asked };
      this.values = this.controls.map(({ name }, k) => shown.limited[name] ?? this.asked[k]);
    }
  }
  // To what is asked for, or what comes nearest: with the other controls as they are, or else
  // at their start.
  change(changes) {
    const wanted = this.controls.map(({ name }, k) => {
      const change = changes[name];
      return Array.isArray(change) ? edited(this.values[k], change) : change ?? this.values[k];
    });
    const nearest = (which) => this.controls.map((control, k) => this.nearest(k, control[which], wanted[k], changes[control.name]));
    const every = this.controls.map(({ full }) => full.map((_, place) => place));
    const exact = this.controls.map((control, k) => this.nearest(k, every[k], wanted[k], changes[control.name]));
    const moved = this.controls.map(({ name }) => name in changes);
    const isAlone = this.controls.some(({ full, together }, k) => moved[k] && together.length === 1 && full.length > 1);
    const alone = exact.map((place, k) => (moved[k] ? place : this.start[k]));
    const found = [exact, isAlone ? alone : nearest("together")].find((state) => this.states.has(String(state)));
    // several at once of those that are moved alone: the last one
    const last = moved.lastIndexOf(true);
    this.go(found ?? put(this.start, last, exact[last]));
    this.tell(this.missing(wanted, changes));
  }
  nearest(k, places, x, change) {
    const { full, kind, value: start } = this.controls[k], was = this.values[k];
    const closest = (far) => places.reduce((best, place) => (far(full[place]) < far(full[best]) ? place : best));
    if (kind === "plane" || kind === "cells") {
      // of a matrix the rows that were changed, and the others as at the start
      const rows = new Set((change ?? []).map(([i]) => i)), alone = start.map((row, i) => (rows.has(i) ? x[i] : row));
      if (kind === "plane") return closest((value) => sum(value.map((point, i) => fromTo(point, (rows.size ? alone : x)[i]))));
      const tries = [x, alone, edited(start, change ?? []), start];
      return tries.map((one) => places.find((place) => isSame(full[place], one))).find((place) => place !== undefined);
    }
    if (kind === "choice" || kind === "switch") return places.find((place) => isSame(full[place], x)) ?? this.start[k];
    const place = closest((value) => Math.abs(value - x));
    const isOnTheWay = (full[place] - was) * (x - was) > 0;
    if (this.isDragged || change === undefined || isSame(was, x) || isOnTheWay) return place;
    // a step, by a key or a button, that is too short to come to another value
    const beyond = places.filter((other) => (full[other] - was) * (x - was) > 0);
    return beyond.length ? beyond.reduce((best, other) => (Math.abs(full[other] - was) < Math.abs(full[best] - was) ? other : best)) : place;
  }
  // A sentence about what is shown in place of what was wanted.
  missing(wanted, changes) {
    const other = this.controls.map((_, k) => k).filter((k) => !isSame(this.asked[k], wanted[k]));
    if (!other.length) return "";
    const matrix = this.controls.findIndex(({ name, kind }, k) => other.includes(k) && name in changes && (kind === "cells" || kind === "plane"));
    if (matrix >= 0) {
      const { name, kind } = this.controls[matrix], rows = changes[name].map(([i]) => i);
      const back = this.asked[matrix].some((row, i) => !rows.includes(i) && !isSame(row, wanted[matrix][i]));
      const what = kind === "cells" ? "row" : "point";
      if (back) return `On this page one ${what} can be changed at a time: the others are back at their start.`;
      if (kind === "plane") return `Not recorded. The nearest recorded place is shown: (${this.asked[matrix][rows[0]].map((x) => x.toFixed(2)).join(", ")}).`;
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
    const { panels, limited: _limited, from: _from, ...rest } = this.picture;
    const values = Object.fromEntries(this.controls.map(({ name }, k) => [name, this.values[k]]));
    const packed = panels.map(({ told: _told, ...panel }) => ({ ...panel, colours: btoa(String.fromCharCode(...panel.colours)) }));
    return { ...rest, panels: packed, values, turn };
  }
  explanation([k, i, j]) {
    const { panels, from } = this.picture, place = i * panels[k].columns.length + j;
    const numbers = from.flat(2), text = panels[k].told[place] ?? "";
    return {
      number: panels[k].cells[place] ?? "",
      text: text.split("\0").map((part, n) => (n % 2 ? Number(numbers[part.split(" ")[0]]).toFixed(part.split(" ")[1]) : part)).join(""),
    };
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
