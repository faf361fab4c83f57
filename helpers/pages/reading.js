// What a page does for its readers, apart from its views: boxes that scroll, and all folds at once.

// A box with more in it than it shows is a stop for the keyboard, and says on which side there
// is more. Any other is neither.
function watchBox(box) {
  const edges = () => {
    const left = box.scrollLeft > 1, right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    set(box, { "data-more": [left && "left", right && "right"].filter(Boolean).join(" ") || undefined });
    return left || right;
  };
  const look = () => {
    const wide = edges();
    set(box, {
      tabindex: wide ? 0 : undefined,
      role: wide ? "group" : undefined,
      "aria-label": wide ? `${box.dataset.box ?? "Python"}, wider than its box` : undefined,
    });
  };
  box.addEventListener("scroll", edges, { passive: true });
  new ResizeObserver(look).observe(box);
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
