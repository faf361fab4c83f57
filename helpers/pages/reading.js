// Helps readers outside the views: boxes that scroll, all folds at once, and puzzles.

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

// For readers who print the answers too, or search in them.
for (const button of document.querySelectorAll(".unfold")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const folds = [...document.querySelectorAll("main details")], open = folds.some((fold) => !fold.open);
    folds.forEach((fold) => { fold.open = open; });
    setText(button, open ? "Fold all" : "Unfold all");
  });
}

// A puzzle: choosing a name shows whether it is right, and unfolds the verdict in either case.
for (const puzzle of document.querySelectorAll(".puzzle")) {
  const names = [...puzzle.querySelectorAll("li")], verdict = puzzle.querySelector("details");
  const right = puzzle.querySelector("[data-right]").textContent, said = make("p", { className: "said" });
  set(said, { role: "status" });
  const choose = (chosen) => {
    for (const { firstChild: button } of names) set(button, { "aria-pressed": button.textContent === chosen });
    puzzle.dataset.solved = chosen === right ? "yes" : "no";
    setText(said, chosen === right ? `Yes: ${right}.` : `No, though people do make that mistake. Here the mistake is: ${right}.`);
    verdict.open = true;
  };
  for (const name of names) name.replaceChildren(makeButton(name.textContent, () => choose(name.textContent)));
  verdict.before(said);
}
