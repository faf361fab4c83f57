// A question before its answer, and the reader's guess. A web page gives it a model of its own,
// since there is no kernel that keeps the guess.

const LATE = 5000; // ms without an answer before the page says so
const FIELDS = { number: "A number:", word: "A word:" };

function makeQuestion(model) {
  const { question, choices, kind, pick } = model.get("asked");
  const said = make("p", { className: "said" });
  let late;
  const send = (guess) => {
    model.send({ guess });
    late ??= setTimeout(() => setText(said, "No answer from Python: run this cell again."), LATE);
  };
  const buttons = choices.map((text) => makeButton(text, () => {
    // a second click takes a choice back; one too many takes the place of the first
    const { guess } = model.get("shown"), others = guess.filter((one) => one !== text);
    send(others.length < guess.length ? others : [...guess, text].slice(-pick));
  }));

  const input = make("input", { type: "text", maxLength: 40, autocomplete: "off", inputMode: kind === "number" ? "decimal" : "text" });
  let sent = "";
  const enter = () => {
    const text = input.value.trim(), number = Number(text.replace(",", "."));
    if (text === sent) return;
    if (kind === "number" && text && !Number.isFinite(number)) return setText(said, "Write a number, such as 0.5 or -2.");
    sent = text;
    send(text ? [kind === "number" ? String(number) : text] : []);
  };
  input.addEventListener("change", enter);
  const field = [make("label", { textContent: FIELDS[kind] }, input), makeButton("Guess", enter)];

  const row = make("div", { className: "row" }, ...(kind === "choice" ? buttons : field));
  const root = make("fieldset", { className: "predict" }, make("legend", { textContent: question }), row, said);
  const leave = keepKeys(root);
  // before the notebook runs the cell again because of Shift and Enter
  const onEnter = ({ key, target }) => { if (key === "Enter" && target === input) enter(); };
  window.addEventListener("keydown", onEnter, true);

  function show() {
    clearTimeout(late);
    late = undefined;
    const { guess, closed } = model.get("shown");
    // a page that was opened later cannot save a guess: its outputs no longer belong to this run
    root.disabled = closed || model.get("page") !== thisPage;
    buttons.forEach((button) => set(button, { "aria-pressed": guess.includes(button.textContent) }));
    if (document.activeElement !== input) input.value = sent = guess[0] ?? "";
    const text = `Your guess: ${guess.join(" and ") || "none yet"}`;
    setText(said, root.disabled ? `${text}. To change this, run the cell again.` : text);
  }
  show();
  set(said, { role: "status" }); // only now, so that no question is announced that nobody answered
  return { root, show, leave: () => { leave(); window.removeEventListener("keydown", onEnter, true); } };
}

const thisPage = String(performance.timeOrigin);

function renderQuestion({ model, el }) {
  if (!model.get("page")) {
    model.set("page", thisPage);
    model.save_changes();
  }
  const { root, show, leave } = makeQuestion(model);
  model.on("change:shown", show);
  el.append(root);
  return () => { model.off("change:shown", show); leave(); root.remove(); };
}
