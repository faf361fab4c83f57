// Helps readers outside the views: boxes that scroll, puzzles, and questions.

// A box that hides part of its content marks the side where there is more, and is a Tab stop
// unless its cells are. Other boxes are neither.
function watchBox(box) {
  const edges = () => {
    const left = box.scrollLeft > 1, right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    set(box, { "data-more": [left && "left", right && "right"].filter(Boolean).join(" ") || undefined });
    return left || right;
  };
  const look = () => {
    const wide = edges();
    if (box.matches(".scroll, .part")) return;
    set(box, {
      tabindex: wide ? 0 : undefined,
      role: wide ? "group" : undefined,
      "aria-label": wide ? `${box.dataset.box ?? "Python"}, wider than its box` : undefined,
    });
  };
  box.addEventListener("scroll", edges, { passive: true });
  const resized = new ResizeObserver(look);
  for (const node of [box, ...box.children]) resized.observe(node);
}
document.querySelectorAll("[data-box], .text .highlight").forEach(watchBox);

// A puzzle: choosing a name shows whether it is right. The right one unfolds the verdict; a wrong
// one stays marked, and the reader tries again.
for (const puzzle of document.querySelectorAll(".puzzle")) {
  const verdict = puzzle.querySelector("details"), said = make("p", { className: "said" });
  set(said, { role: "status" });
  verdict.before(said);
  for (const name of puzzle.querySelectorAll("li")) {
    const text = name.textContent, isRight = "right" in name.dataset;
    const button = makeButton(text, () => {
      set(button, { "aria-pressed": true });
      setText(said, isRight ? `Yes: ${text}.` : `Not here, though people do make that mistake: ${text}. Try again.`);
      verdict.open ||= isRight;
    });
    name.replaceChildren(button);
  }
}

// A question: a guess unfolds the output and the answer below it.
function openAnswer(section) {
  const next = section.nextElementSibling, fold = next?.querySelector("details.answer, :scope.text > details:first-child");
  if (fold) fold.open = true;
  if (fold?.matches(".answer")) openAnswer(next);
}
for (const box of document.querySelectorAll(".asked")) {
  const state = { asked: JSON.parse(box.dataset.asked), shown: { guess: [] }, page: thisPage };
  let show;
  const send = (shown) => { state.shown = shown; show(); };
  box.replaceChildren();
  renderQuestion({ el: box, model: { get: (name) => state[name], on: (_, listener) => { show = listener; }, send } });
  // not while a number is being typed
  for (const type of ["click", "change"]) box.addEventListener(type, () => {
    if (state.shown.guess.length === state.asked.pick) openAnswer(box.closest("section"));
  });
}
