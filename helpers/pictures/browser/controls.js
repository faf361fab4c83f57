// Part of explore.js: the controls. Each has its row, and functions that set its value from
// outside (show) or stop it.

const STEP = 900; // ms for each step of a play
const KEYS = matchMedia("(hover: none)").matches ? "" : ", or use the arrow keys";
const DRAG = `Drag what has a dotted ring${KEYS}.`;
// of the controls that are in the picture: what can be done there
const HINTS = { cells: "Click a cell, or press Enter on it; ◥ means off.", plane: DRAG, amounts: DRAG };

const digitsOf = (...numbers) => Math.max(...numbers.map((x) => (String(x).split(".")[1] ?? "").length));

function makeControl(control, changed, busy) {
  const id = `explore-${Math.random().toString(36).slice(2)}`, name = spoken(control.name);
  const makeOne = { choice: makeChoice, text: makeText, switch: makeSwitch }[control.kind] ?? makeSlider;
  const { parts, ...rest } = makeOne(control, id, changed, busy);
  const label = make("label", { textContent: name, htmlFor: id });
  return { row: make("div", { className: `control ${control.kind}` }, label, ...parts), ...rest };
}

function makeChoice({ labels }, id, changed) {
  const input = make("select", { id }, ...labels.map((text, i) => make("option", { value: i, textContent: text })));
  input.addEventListener("input", () => changed(Number(input.value)));
  return { parts: [input], show: (value) => { input.value = value; } };
}

// A line of text, which wraps where the field is narrower: its box has the text, too, and with it
// the height of all its lines.
function makeText({ value: start }, id, changed) {
  const input = make("textarea", { id, rows: 1, cols: inside(start.length + 2, 20, 60) }); // in letters
  const box = make("span", { className: "field" }, input);
  const fit = () => set(box, { "data-text": input.value });
  input.addEventListener("keydown", (event) => { if (event.key === "Enter" && !isCommand(event)) event.preventDefault(); });
  input.addEventListener("input", () => { fit(); changed(input.value.replaceAll("\n", " ")); });
  // writing the same text again would move the cursor
  return { parts: [box], show: (value) => { if (input.value !== value) input.value = value; fit(); } };
}

function makeSwitch(_, id, changed) {
  const input = make("input", { id, type: "checkbox" });
  input.addEventListener("input", () => changed(input.checked));
  return { parts: [input], show: (value) => { input.checked = value; } };
}

function makeSlider(control, id, changed, busy) {
  const { name, labels } = control;
  const [low, high, by] = labels ? [0, labels.length - 1, 1] : [control.low, control.high, control.by];
  const digits = labels ? 0 : digitsOf(low, high, by);
  const input = make("input", { id, type: "range", min: low, max: high, step: by });
  const said = new Text(), output = make("output", { htmlFor: id }, said);
  if (labels) output.style.minWidth = `${Math.max(...labels.map((text) => text.length))}ch`; // so that its neighbours do not move
  const show = (value) => {
    const words = labels ? labels[value] : Number(value).toFixed(digits);
    input.value = value;
    setText(said, words);
    set(input, { "aria-valuetext": words });
  };
  // the field keeps a value inside its limits
  const move = (value) => { input.value = value; changed(Number(Number(input.value).toFixed(digits))); };
  input.addEventListener("input", () => move(input.value));
  if (name !== "step") return { parts: [input, output], show };
  const { buttons, stop } = makeStepping(input, move, busy);
  return { parts: [input, output, buttons], show, stop };
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
      if (busy()) return; // show every step, even of a slow function
      by(1);
      if (last()) stop();
    }, STEP);
  });
  input.addEventListener("input", stop);
  return { buttons: make("span", { className: "stepping" }, back, play, next), stop };
}

// The value of a control that has this name, the k-th; null if there is none.
function option({ labels, low, high, by }, word, k) {
  if (!labels) return low + k * by <= high ? low + k * by : null;
  if (labels[k] === word) return k; // a word may occur twice in a sentence
  return labels.includes(word) ? labels.indexOf(word) : null;
}

// The fields of all controls that are not in the picture.
function makeForm(title, controls, { change, reset, busy }) {
  const here = controls.filter(({ kind }) => !(kind in HINTS));
  const made = here.map((one) => makeControl(one, (value) => change(one.name, value), busy));
  const shows = Object.fromEntries(here.map(({ name }, k) => [name, made[k].show]));
  const button = makeButton("reset", reset);
  button.className = "reset";
  const fields = make("fieldset", {}, ...made.map(({ row }) => row), button);
  set(fields, { "aria-label": `${title}: controls` });
  return {
    fields,
    show(values) {
      for (const [name, value] of Object.entries(values)) shows[name]?.(value);
    },
    stop() {
      for (const { stop } of made) stop?.();
    },
  };
}
