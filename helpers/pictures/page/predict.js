// A question before its answer, and the reader's guess. On a web page, its model is made by
// reading.js, since there is no kernel that keeps the guess.

const LATE = 5000; // ms without an answer before the page says so
const thisPage = String(performance.timeOrigin);

function makeQuestion(model) {
  const { question, choices, kind, pick } = model.get("asked");
  const said = make("p", { className: "said" });
  let late, sent = "";
  const send = (guess) => {
    late ??= setTimeout(() => setText(said, "No answer from Python: run this cell again."), LATE);
    model.send({ guess });
  };
  const buttons = choices.map((text) => makeButton(text, () => {
    // a second click takes a choice back; one too many takes the place of the first
    const { guess } = model.get("shown"), others = guess.filter((one) => one !== text);
    send(others.length < guess.length ? others : [...guess, text].slice(-pick));
  }));

  const isNumber = kind === "number";
  const input = make("input", { type: "text", maxLength: 40, autocomplete: "off", inputMode: isNumber ? "decimal" : "text" });
  const enter = () => {
    const text = input.value.trim(), number = Number(text.replace(",", "."));
    if (text === sent) return;
    if (isNumber && !Number.isFinite(number)) return setText(said, "Write a number, such as 0.5 or -2.");
    sent = text;
    send(text ? [isNumber ? String(number) : text] : []);
  };
  input.addEventListener("change", enter);
  const field = [make("label", { textContent: `A ${kind}:` }, input), makeButton("Guess", enter)];

  const row = make("div", { className: "row" }, ...(choices.length ? buttons : field));
  const root = make("fieldset", { className: "predict" }, make("legend", { textContent: question }), row, said);
  const show = () => {
    clearTimeout(late);
    late = undefined;
    const { guess, closed } = model.get("shown");
    // a page that was opened later cannot save a guess: its outputs no longer belong to this run
    root.disabled = closed || model.get("page") !== thisPage;
    buttons.forEach((button) => set(button, { "aria-pressed": guess.includes(button.textContent) }));
    if (document.activeElement !== input) input.value = sent = guess[0] ?? "";
    const more = root.disabled ? ". To change this, run the cell again." : "";
    setText(said, `Your guess: ${guess.join(" and ") || "none yet"}${more}`);
  };
  show();
  set(said, { role: "status" }); // only now: a question that is new says nothing by itself
  return { root, show, enter };
}

function renderQuestion({ model, el }) {
  if (!model.get("page")) {
    model.set("page", thisPage);
    model.save_changes();
  }
  const { root, show, enter } = makeQuestion(model), leave = keepKeys(root);
  // Shift and Enter run the cell again: the guess comes first
  const onKey = ({ key, target }) => { if (key === "Enter" && target.matches("input") && root.contains(target)) enter(); };
  window.addEventListener("keydown", onKey, true);
  model.on("change:shown", show);
  el.append(root);
  return () => { model.off("change:shown", show); window.removeEventListener("keydown", onKey, true); leave(); root.remove(); };
}
