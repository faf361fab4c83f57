// A question before its answer, and the reader's guess. On a web page, its model is made by
// reading.js, since there is no kernel that keeps the guess.

const LATE = 5000; // ms without an answer before the page says so
const GONE_HERE = "No answer from Python: run the cells from the top down to here.";
const NO_NUMBER = "Write a number such as 0.5 or 1200. ";
const thisPage = String(performance.timeOrigin);

// Returns the number in a text, which may have a decimal comma; NaN for anything else, and for
// 1,000, which means two different numbers.
function numberIn(text) {
  const plain = text.replace("−", "-");
  return /^[-+]?[1-9]\d{0,2}(,\d{3})+$/.test(plain) ? NaN : Number(plain.replace(",", "."));
}

function renderQuestion({ model, el }) {
  const { question, choices, kind, pick } = model.get("asked");
  const said = make("p", { className: "said" });
  let late, saving, sent = "";
  const tell = (first = "") => {
    const { guess } = model.get("shown"), left = pick - guess.length;
    const missing = guess.length && left ? `; ${left === 1 ? "one" : left} more` : "";
    const more = root.disabled ? ". To change this, run the question's cell again." : "";
    setText(said, `${first}Your guess: ${guess.join(" and ") || "none yet"}${missing}${more}`);
  };
  const save = () => {
    const key = saving;
    saving = undefined;
    if (key) input.dispatchEvent(new KeyboardEvent("keydown", key));
  };
  const send = (guess) => {
    clearTimeout(late);
    late = setTimeout(() => { setText(said, GONE_HERE); save(); }, LATE);
    model.send({ guess });
  };
  const buttons = choices.map((text) => makeButton(text, () => {
    // a second click takes a choice back; one too many takes the place of the oldest
    const { guess } = model.get("shown"), others = guess.filter((one) => one !== text);
    send(others.length < guess.length ? others : [...guess, text].slice(-pick));
  }));
  // also for a number: the browser's own field for numbers makes 9 of 0,9, and 12 of 1/2
  const input = make("input", { type: "text", maxLength: 40, autocomplete: "off" });
  // Returns whether there was something new to send.
  const enter = () => {
    const text = input.value.trim(), number = kind === "number" && text ? numberIn(text) : 0;
    if (!Number.isFinite(number)) tell(NO_NUMBER);
    else if (text !== sent) {
      sent = text;
      send(text ? [kind === "number" ? String(number) : text] : []);
      return true;
    } else if (!late) tell();
    return false;
  };
  input.addEventListener("change", enter);
  const field = [make("label", { textContent: `A ${kind}:` }, input), makeButton("Guess", enter)];

  const row = make("div", { className: "row" }, ...(choices.length ? buttons : field));
  const root = make("fieldset", { className: "predict" }, make("legend", { textContent: question }), row, said);
  set(root, { "data-jp-suppress-context-menu": "" }); // a finger on the field would open JupyterLab's
  const show = () => {
    clearTimeout(late);
    late = undefined;
    const { guess, closed } = model.get("shown");
    // a page that was opened later cannot save a guess: its outputs no longer belong to this run
    root.disabled = closed || model.get("page") !== thisPage;
    buttons.forEach((button) => set(button, { "aria-pressed": guess.includes(button.textContent) }));
    if (document.activeElement !== input) input.value = sent = guess[0] ?? "";
    tell();
    save();
  };
  if (!model.get("page")) {
    model.set("page", thisPage);
    model.save_changes();
  }
  show();
  set(said, { role: "status" }); // only now: a question that is new says nothing by itself
  // Shift and Enter run the cell again: the guess comes first. A save waits until Python has
  // kept the guess, or the notebook would be saved without it. (On a web page, none is late.)
  const leave = keepKeys(root, (event) => {
    if (event.key !== "Enter" && !isCommand(event) || !enter() || event.key === "Enter" || !late) return;
    saving = event;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
  model.on("change:shown", show);
  el.append(root);
  return () => { model.off("change:shown", show); leave(); root.remove(); };
}
