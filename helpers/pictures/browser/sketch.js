// Part of explore.js: a drawing of marks, which Python has placed (sketch.py).

const THUMB = 24; // pixels of a mark that can be grabbed, at least
const RING = 9; // pixels that its ring is wider than the mark

const dot = ([x, y]) => `M${x} ${y}h0`;
const through = (at) => at.map((z, k) => (k % 2 ? `${z}` : `${k ? "L" : "M"}${z} `)).join("");
const PATHS = {
  line: (at) => (at.length === 2 ? dot(at) : through(at)),
  curve: (at) => `M${at.slice(0, 2)}C${at.slice(2, 8)}L${at.slice(8, 10)}C${at.slice(10)}Z`, // its outline
  area: (at) => `${through(at)}Z`,
};

// How far the points of a mark reach in a direction, 0 to the right and 1 down: [low, high].
function reachOf(at, k) {
  const own = at.filter((_, n) => n % 2 === k);
  return [Math.min(...own), Math.max(...own)];
}
// Curves only react to the pointer: a word at their end gives the same explanation.
const isReached = ({ kind, cell, sets }) => Boolean(sets || cell) && kind !== "curve";
const isUsed = (mark) => Boolean(mark.drags || mark.sets || mark.cell);

// One mark: an SVG element. A mark that can be used has its own group, with a text for people who
// cannot see it.
function makeMark() {
  let shape = null, group = null, kind = "", spot = null, used = false;
  function place({ at, side, drags, width = 0 }) {
    if (kind === "text") set(shape, { x: at[0], y: at[1] });
    else set(shape, { d: PATHS[kind](at.map((z) => Math.round(z * 10) / 10)) });
    if (!spot) return;
    // what can be dragged has a ring around it, which shows: numbers are narrower than words
    const off = drags ? RING : 0, letters = kind === "text" ? (drags ? 7 : 8) * shape.textContent.length : 0;
    const [[x, wide], [y, high]] = [0, 1].map((k) => {
      const [low, end] = reachOf(at, k);
      return [(low + end) / 2, Math.max(THUMB, end - low + width + off, k ? 0 : letters + off)];
    });
    const middle = x + letters * ({ left: 0.5, right: -0.5 }[side] ?? 0);
    set(spot, { x: middle - wide / 2, y: y - high / 2, width: wide, height: high, rx: Math.min(wide, high) / 2 });
  }
  function build(mark) {
    kind = mark.kind;
    shape = makeShape(kind === "text" ? "text" : "path");
    const before = group;
    group = makeShape("g");
    before?.replaceWith(group);
    // the pointer must hit a curve itself; for other marks nearby is enough
    spot = isUsed(mark) && kind !== "curve" ? makeShape("rect") : null;
    if (spot) set(spot, { class: "spot" });
    group.append(...[spot, shape].filter(Boolean));
  }
  function draw(mark) {
    const isNew = kind !== mark.kind || used !== isUsed(mark);
    used = isUsed(mark);
    if (isNew) build(mark);
    set(shape, { class: mark.kind, "data-role": mark.role, opacity: mark.opacity, "stroke-width": mark.width, style: mark.side && `text-anchor: ${{ left: "start", right: "end" }[mark.side]}` });
    if (kind === "text") setText(shape, mark.text);
    set(shape, { "data-quiet": ZERO.test(mark.text) || undefined });
    place(mark);
  }
  return { draw, group: () => group };
}

// A drawing: all marks that can be used share one Tab stop, but each mark to drag has its own.
function makePart({ look, sets, drags }) {
  const shape = makeShape("svg"), box = make("div", { className: "part" });
  box.append(shape);
  let made = [], marks = [], held = 0, taken = null; // taken: the mark being dragged, and from where
  const at = ({ target }) => made.findIndex((one) => one.group().contains(target));
  // one listener for all marks: in Chromium, a mark with its own "focus" listener is a Tab stop
  const listen = (type, react) => box.addEventListener(type, (event) => { if (at(event) >= 0) react(marks[at(event)], event, at(event)); });
  const lookAt = ({ cell }) => { if (cell) look(...cell); };
  listen("pointerover", lookAt);
  listen("focusin", (mark, _, k) => { if (!mark.drags) hold(k); lookAt(mark); });
  listen("focusout", () => box.classList.remove("by-hand"));
  listen("click", (mark) => { lookAt(mark); if (mark.sets) sets.choose(mark.sets); });
  listen("pointerdown", (mark, event, k) => {
    if (!mark.drags) return;
    event.preventDefault();
    box.classList.add("by-hand"); // without the frame of the keyboard's focus
    made[k].group().focus();
    box.setPointerCapture(event.pointerId);
    taken = { what: mark.drags, x: event.clientX, y: event.clientY, value: drags.value(mark.drags), size: shape.getScreenCTM().a };
  });
  box.addEventListener("pointermove", ({ clientX, clientY }) => {
    if (taken) drags.move(taken.what, taken.value, [clientX - taken.x, taken.y - clientY].map((z) => z / taken.size));
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => { taken = null; });
  listen("keydown", (mark, event, k) => {
    const step = strides[event.key];
    if (!step && !isPress(event)) return;
    event.preventDefault();
    box.classList.remove("by-hand");
    if (mark.drags) return step && drags.step(mark.drags, [step[1], -step[0]]);
    if (!step) return mark.sets && !event.repeat && sets.choose(mark.sets);
    const all = reachable(), to = all.indexOf(k) + Math.sign(step[0] + step[1]);
    made[all[inside(to, 0, all.length - 1)]].group().focus();
  });
  // In the order of the marks, without those that are dragged.
  const reachable = () => marks.map((_, k) => k).filter((k) => isReached(marks[k]) && !marks[k].drags);
  function hold(k) {
    held = k;
    made.forEach(nameOne);
  }
  function nameOne(one, k) {
    const { sets: word, drags: what, cell, label } = marks[k], group = one.group();
    set(group, { "pointer-events": isUsed(marks[k]) ? undefined : "none" }); // the pointer reaches the mark below it
    if (!what && !isReached(marks[k])) return set(group, { "aria-hidden": true });
    const now = what && drags.value(what), chosen = word && sets.isChosen(word);
    set(group, {
      tabindex: what || k === held ? 0 : -1,
      role: what ? (Array.isArray(now) ? "button" : "slider") : word ? "button" : "img",
      "aria-label": label,
      "aria-pressed": word ? chosen : undefined,
      "aria-valuenow": what && !Array.isArray(now) ? now : undefined,
      "aria-valuetext": what && !Array.isArray(now) ? label : undefined,
      class: what ? "drags" : word ? "sets" : undefined,
      "data-value": what && String(now),
      "data-control": what && what[0],
      "data-cell": cell && String(cell),
    });
  }
  let wide = 0, high = 0;
  function draw({ size, marks: now }) {
    // it never shrinks, or everything next to it would jump
    [wide, high] = [Math.max(wide, size[0]), Math.max(high, size[1])];
    set(shape, { viewBox: `0 0 ${wide} ${high}` });
    box.style.setProperty("--wide", wide);
    marks = now.map((mark) => (mark.sets && !sets.may(mark.sets) ? { ...mark, sets: undefined } : mark));
    while (made.length < marks.length) made.push(makeMark());
    made.length = marks.length;
    made.forEach((one, k) => one.draw(marks[k]));
    // a mark that is still there keeps the focus
    while (shape.children.length > made.length) shape.lastChild.remove();
    shape.append(...made.slice(shape.children.length).map((one) => one.group()));
    const all = reachable();
    if (!all.includes(held)) held = all[0] ?? -1;
    made.forEach(nameOne);
  }
  return { box, draw, high: () => high, renew: () => made.forEach(nameOne) };
}

// All drawings of a panel, side by side if they fit; in a place as narrow as a phone, others where
// there is no room for that.
function makeSketch(on) {
  const box = make("div", { className: "sketch" });
  let made = [], panel = null, isNarrow = false;
  set(box, { role: "group" });
  // Is there no room for the drawings beside each other, as small as their letters may be?
  function isTight({ parts }) {
    const wide = parts.reduce((sum, { size }) => sum + size[0], 0);
    const least = getComputedStyle(box).getPropertyValue("--least");
    const room = box.closest(".views")?.clientWidth ?? 0; // 0 before it is shown
    return room > 0 && room < 480 && wide * least > room;
  }
  function draw(now) {
    const wasNarrow = isNarrow;
    [panel, isNarrow] = [now, isTight(now)];
    if (isNarrow !== wasNarrow) made = [];
    const parts = panel.parts.map((part, k) => (isNarrow && panel.narrow[k]) || part);
    while (made.length < parts.length) made.push(makePart(on));
    made.length = parts.length;
    fill(box, made.map((part) => part.box));
    made.forEach((part, k) => part.draw(parts[k]));
    box.style.setProperty("--high", Math.max(...made.map((part) => part.high())));
  }
  function renew() {
    if (isNarrow !== isTight(panel)) draw(panel);
    made.forEach((part) => part.renew());
  }
  return { box, named: box, draw, renew };
}
