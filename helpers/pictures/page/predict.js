// A question before its answer, and the reader's guess. On a web page, its model is made by
// reading.js, since there is no kernel that keeps the guess.

const LATE = 5000; // ms without an answer before the page says so
const thisPage = String(performance.timeOrigin);

function renderQuestion({ model, el }) {
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
  const input = make("input", { type: kind === "number" ? "number" : "text", step: "any", maxLength: 40, autocomplete: "off" });
  const enter = () => {
    const text = input.value.trim();
    if (text !== sent) send(text ? [text] : []);
    sent = text;
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
    const more = root.disabled ? ". To change this, run the cell again." : "";
    setText(said, `Your guess: ${guess.join(" and ") || "none yet"}${more}`);
  };
  if (!model.get("page")) {
    model.set("page", thisPage);
    model.save_changes();
  }
  show();
  set(said, { role: "status" }); // only now: a question that is new says nothing by itself
  // Shift and Enter run the cell again: the guess comes first
  const leave = keepKeys(root, ({ key }) => { if (key === "Enter") enter(); });
  model.on("change:shown", show);
  el.append(root);
  return () => { model.off("change:shown", show); leave(); root.remove(); };
}
