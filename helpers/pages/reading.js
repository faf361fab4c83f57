// What a page does for its readers, apart from its views: boxes that scroll, and all folds at once.

// A box with more in it than it shows says on which side there is more, and is a stop for the
// keyboard, unless its cells are. Any other is neither.
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

// For the one who prints the answers too, or searches in them.
for (const button of document.querySelectorAll(".unfold")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const folds = [...document.querySelectorAll("main details")], open = folds.some((fold) => !fold.open);
    folds.forEach((fold) => { fold.open = open; });
    setText(button, open ? "Fold all" : "Unfold all");
  });
}

// A puzzle: a name that is chosen is answered, and what the check says unfolds, either way.
for (const puzzle of document.querySelectorAll(".puzzle")) {
  const names = [...puzzle.querySelectorAll("li")], verdict = puzzle.querySelector("details");
  const right = puzzle.querySelector("[data-right]").textContent, said = make("p", { className: "said" });
  set(said, { role: "status" });
  const choose = (chosen) => {
    for (const { firstChild: button } of names) set(button, { "aria-pressed": button.textContent === chosen });
    puzzle.dataset.solved = chosen === right ? "yes" : "no";
    setText(said, chosen === right ? `Yes: ${right}.` : `Not this one, though it is a mistake that people make. Here it is: ${right}.`);
    verdict.open = true;
  };
  for (const name of names) name.replaceChildren(makeButton(name.textContent, () => choose(name.textContent)));
  verdict.before(said);
}
