// A question before its answer, and the reader's guess. On a web page, its model is made by
// reading.js, since there is no kernel that keeps the guess.

const LATE = 5000; // ms without an answer before the page says so
const GONE_HERE = "No answer from Python: run the cells from the top down to here.";
const NUMBER = /^-?(\d+\.?\d*|\.\d+)$/;
const thisPage = String(performance.timeOrigin);

function renderQuestion({ model, el }) {
  const { question, choices, kind, pick } = model.get("asked");
  const said = make("p", { className: "said" });
  let late, guessed = 0;
  const send = (guess) => {
    guessed = guess.length;
    clearTimeout(late);
    late = setTimeout(() => setText(said, GONE_HERE), LATE);
    model.send({ guess });
  };
  const buttons = choices.map((text) => makeButton(text, () => {
    // one too many takes the place of the oldest
    const others = model.get("shown").guess.filter((one) => one !== text);
    send([...others, text].slice(-pick));
  }));
  // also for a number: the browser's own field for numbers makes 9 of 0,9, and 12 of 1/2
  const input = make("input", { type: "text", maxLength: 40, autocomplete: "off" });
  // with every key, so that a save or a run has what is typed; a number may have a decimal comma
  input.addEventListener("input", () => {
    const typed = input.value.trim(), text = kind === "number" ? typed.replace(",", ".") : typed;
    send(text && (kind === "word" || NUMBER.test(text)) ? [text] : []);
  });
  const field = make("label", { textContent: kind === "number" ? "A number such as 0.5:" : "A word:" }, input);
  const row = make("div", { className: "row" }, ...(choices.length ? buttons : [field]));
  const root = make("fieldset", { className: "predict" }, make("legend", { textContent: question }), row, said);
  set(root, { "data-jp-suppress-context-menu": "" }); // a finger on the field would open JupyterLab's
  const show = () => {
    clearTimeout(late);
    const { guess, closed } = model.get("shown"), left = pick - guess.length;
    guessed = guess.length;
    // a page that was opened later cannot save a guess: its outputs no longer belong to this run
    root.disabled = closed || model.get("page") !== thisPage;
    buttons.forEach((button) => set(button, { "aria-pressed": guess.includes(button.textContent) }));
    if (document.activeElement !== input) input.value = guess[0] ?? "";
    const missing = guess.length && left ? `; ${left === 1 ? "one" : left} more` : "";
    const more = root.disabled ? ". To change this, run the question's cell again." : "";
    setText(said, `Your guess: ${guess.join(" and ") || "none yet"}${missing}${more}`);
  };
  // A click here makes the question's cell the active one, so Shift + Enter would only ask again.
  // Once there is a guess, it runs the next cell: JupyterLab runs the one that has the focus.
  function moveOn({ key, shiftKey, target }) {
    const cell = el.closest(".jp-Cell"), next = cell?.nextElementSibling;
    if (key !== "Enter" || !shiftKey || root.disabled || guessed < pick) return;
    if (next && cell.contains(target) && !target.closest(".jp-InputArea")) next.focus();
  }
  if (!model.get("page")) {
    model.set("page", thisPage);
    model.save_changes();
  }
  show();
  set(said, { role: "status" }); // only now: a question that is new says nothing by itself
  const leave = keepKeys(root);
  window.addEventListener("keydown", moveOn, true);
  model.on("change:shown", show);
  el.append(root);
  return () => {
    model.off("change:shown", show);
    window.removeEventListener("keydown", moveOn, true);
    leave();
    root.remove();
  };
}
