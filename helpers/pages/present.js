// Shows a page as steps for a projector. A step is a part of the page, and the rest is hidden:
// nothing is copied or moved, so that views and text boxes keep their state.

const SMALLEST = 24; // px of a letter that the last row of a class can read
const PICTURE = ".output > figure img"; // not the still picture of a live view
const HEADING = /^H[1-6]$/;

const isHeading = (node) => HEADING.test(node.tagName);
const isSource = (node) => node.matches(".source");
const isOutput = (node) => node.parentElement.matches(".code") && !isSource(node);
const columnsOf = (node) => Math.max(...node.textContent.split("\n").map((line) => line.length));
const isLive = (node) => Boolean(node.querySelector(".live"));
const isPicture = (node) => isOutput(node) && Boolean(node.querySelector(PICTURE));
const isPuzzle = (node) => Boolean(node.querySelector(".puzzle"));
const isSetUp = (node) => isSource(node) && /^(import|from) /.test(node.querySelector("pre").textContent.trim());
// Whether a paragraph has this word in bold, such as "Predict:" or "Live."
const says = (node, word) => node.tagName === "P" && [...node.querySelectorAll("strong")].some((x) => x.textContent.startsWith(word));

// The parts of the page that make up the steps, in order.
const blocksOf = (main) => [...main.querySelectorAll(":scope > :is(.text, .code) > *")];

// Whether a sentence goes on, for instance after a formula or lines of code in its middle.
function goesOn(before, block) {
  if (!before.parentElement.matches(".text") || !block.parentElement.matches(".text")) return false;
  if (before.tagName === "P") return /[\p{L},]$/u.test(before.textContent.trim());
  return before.matches(".highlight, pre") && /^\p{Ll}/u.test(block.textContent);
}

// Steps: { blocks, intro: the blocks that were shown before, hidden: the blocks that answer a
// question and wait until the reader asks for them }.
function stepsOf(blocks) {
  const steps = [];
  let step, question = false;
  const begin = (block, intro = []) => steps.push(step = { blocks: [...intro, block], intro, hidden: [], asked: false });
  const last = () => step.blocks.at(-1);
  // code follows, with only lists and folded hints in between
  const introduces = (k) => isSource(blocks.slice(k + 1).find((block) => isSource(block) || isHeading(block) || block.tagName === "P") ?? blocks[k]);
  // the paragraph describes the output above it
  const concludes = (block, k) => isOutput(last()) && !isLive(last()) && !["Predict", "Live"].some((word) => says(block, word)) && !introduces(k);
  function belongs(block, k) {
    if (isHeading(block)) return step.blocks.every(isHeading);
    if (goesOn(last(), block)) return true;
    if (isPuzzle(block)) return false;
    // a picture below the printed output of its cell gets its own screen
    if (isPicture(block) && last().matches(".printed")) return false;
    const coded = step.blocks.some((one) => isSource(one) && !isSetUp(one));
    if (isSource(block)) return !coded;
    if (block.tagName !== "P" || step.blocks.every(isHeading)) return true;
    if (block.parentElement === blocks[0].parentElement) return true; // all of the title is one step
    if (concludes(block, k)) return true;
    return !coded && step.blocks.some((one) => says(one, "Live") || says(one, "Predict") && !says(block, "Live"));
  }
  blocks.forEach((block, k) => {
    if (step && belongs(block, k)) step.blocks.push(block);
    // code always has the sentence that introduces it: it is shown again
    else if (step && isPicture(block)) begin(block, introduction(step).filter(isHeading));
    else begin(block, step && (isSource(block) || isPuzzle(block)) ? introduction(step) : []);
    if (says(block, "Predict")) question = true;
    if (isHeading(block) || isLive(block)) question = false;
    if (isOutput(block) && question) [question, step.answered] = [false, true];
    if (step.answered) step.hidden.push(block);
  });
  return steps;
}

// The same steps, joined in pairs if one would leave half the screen empty. A picture fills a screen;
// text after a question waits with its answer, and a second question starts a new step.
function joined(steps, heightOf, room) {
  const high = ({ blocks }) => blocks.reduce((total, block) => total + (isLive(block) || isPicture(block) ? room : heightOf(block)), 0);
  return steps.reduce((all, step) => {
    const before = all.at(-1), isHalf = (one) => high(one) < room / 2, begins = isHeading(step.blocks[0]);
    const isOne = before && (isHalf(before) || isHalf(step) && !begins) && !(before.hidden.length && (step.hidden.length || begins));
    const blocks = [...new Set([...(before?.blocks ?? []), ...step.blocks])];
    if (!isOne || high({ blocks }) > room) return [...all, step];
    const hidden = before.hidden.length ? [...before.hidden, ...step.blocks] : step.hidden;
    return [...all.slice(0, -1), { ...before, blocks, hidden }];
  }, []);
}

// The headings and the last paragraph, with its lists, before the code of a step.
function introduction({ blocks }) {
  const before = blocks.slice(0, blocks.findIndex(isSource)).filter((block) => block.tagName !== "DETAILS");
  const from = before.findLastIndex((block) => block.tagName === "P");
  return before.filter((block, k) => isHeading(block) || k >= from);
}

const largestNow = () => Math.max(SMALLEST, Math.min(window.innerHeight * 0.044, window.innerWidth * 0.028));
// Code and results are folded for readers; in a presentation they have their own steps.
function foldIn(nodes) {
  for (const node of nodes) node.open = node.matches(".fold");
}

function presentation(main, button) {
  const blocks = blocksOf(main), single = stepsOf(blocks), root = document.documentElement;
  let steps = single;
  const status = make("span"), next = makeButton("", () => forward());
  set(status, { role: "status" });
  const bar = make("nav", { className: "steps" }, makeButton("Back", () => back()), status, next, makeButton("Leave (Esc)", () => leave()));
  const unfold = makeButton("Code", () => fold(unfold.getAttribute("aria-expanded") === "true"));
  bar.prepend(unfold);
  set(bar, { "aria-label": "Steps" });
  document.body.append(bar);
  let now = -1, entered, opened;
  const step = () => steps[now], presenting = () => now >= 0;
  const waiting = () => !step().asked && step().hidden.length > 0;
  const parts = (selector) => step().blocks.flatMap((block) => [...(block.matches(selector) ? [block] : []), ...block.querySelectorAll(selector)]);

  // Letters are as large as the screen allows. The code of a view or a picture is folded if it
  // takes too much room; a step that is still too high scrolls.
  function fit() {
    const { innerWidth: wide, innerHeight: high } = window;
    const pictures = parts(PICTURE), lines = parts(".source, .printed, .text pre");
    const largest = largestNow(), sizes = [];
    for (let size = largest; size > SMALLEST; size -= 1) sizes.push(size);
    root.style.setProperty("--columns", Math.max(40, ...lines.map(columnsOf)));
    // a picture is as wide as the screen, unless it is then too high
    const asked = pictures.map((image) => Math.min(0.7 * high, wide * image.naturalHeight / image.naturalWidth || 0));
    function fits(size) {
      root.style.setProperty("--size", `${size}px`);
      root.style.setProperty("--picture", "0px");
      const left = room() - main.offsetHeight, most = Math.max(0, ...asked) * asked.length;
      if (asked.length) root.style.setProperty("--picture", `${Math.max(left, 0.5 * high) / asked.length}px`);
      return left >= most;
    }
    root.removeAttribute("data-dense");
    const code = folding();
    unfold.hidden = !code.length;
    fold(code.some(isSetUp));
    if (fits(largest)) return;
    fold(true);
    if ([...sizes, SMALLEST].some(fits)) return;
    // a view stays with its target: its tables are made dense
    root.toggleAttribute("data-dense", step().blocks.some(isLive));
    if (root.hasAttribute("data-dense")) sizes.slice(-6).concat(SMALLEST).some(fits);
    else if (!asked.length) fits(Math.max(SMALLEST, 0.8 * largest)); // it is scrolled anyway
  }
  // The code of this step that may be folded.
  function folding() {
    const shown = step().blocks.find((block) => isLive(block) || isPicture(block));
    return step().blocks.filter((block) => isSource(block) && (isSetUp(block) || block.parentElement === shown?.parentElement));
  }
  function fold(folded) {
    for (const code of folding()) code.toggleAttribute("data-folded", folded);
    set(unfold, { "aria-expanded": !folded });
  }

  // what a view needs is known when it is there
  const resized = new ResizeObserver(() => presenting() && fit());

  function tidy() {
    resized.disconnect();
    for (const name of ["data-away", "data-waits", "data-folded"]) {
      main.querySelectorAll(`[${name}]`).forEach((node) => node.removeAttribute(name));
    }
  }
  function show(k) {
    tidy();
    now = k;
    for (const block of blocks) block.toggleAttribute("data-away", !step().blocks.includes(block));
    foldIn(parts("details"));
    if (waiting()) step().hidden.forEach((block) => block.toggleAttribute("data-waits", true));
    fit();
    parts(".live, img").forEach((node) => resized.observe(node));
    window.scrollTo(0, 0);
    if (!bar.contains(document.activeElement)) main.focus({ preventScroll: true });
    tell();
    history.replaceState(null, "", `#present-${k + 1}`);
  }
  function tell() {
    setText(status, `Step ${now + 1} of ${steps.length}`);
    setText(next, waiting() ? "Show" : "Next");
  }
  function ask() {
    step().asked = true;
    step().hidden.forEach((block) => block.removeAttribute("data-waits"));
    tell();
    reveal(step().hidden[0]);
  }
  // Scrolls only if necessary, and never past the beginning.
  function reveal(node) {
    const { top, bottom } = node.getBoundingClientRect();
    window.scrollBy(0, Math.min(top, Math.max(0, bottom + 8 - room())));
  }
  const room = () => window.innerHeight - bar.offsetHeight;

  // Scrolls through a step that is higher than the screen, then goes on.
  function forward() {
    const ended = window.scrollY + window.innerHeight > root.scrollHeight - 2;
    const seen = waiting() && step().hidden[0].getBoundingClientRect().top < room();
    if (!ended && !seen) window.scrollBy(0, 0.8 * room());
    else if (waiting()) ask();
    else if (now < steps.length - 1) show(now + 1);
  }
  function back() {
    if (window.scrollY > 1) window.scrollBy(0, -0.8 * room());
    else if (now > 0) show(now - 1);
  }

  // Starts at the step with this number, or at what is at the top of the window.
  function enter(number) {
    if (!presenting()) {
      const first = atTop();
      entered = { top: window.scrollY, hash: location.hash };
      opened = [...main.querySelectorAll("details[open]")];
      root.classList.add("presenting");
      set(main, { tabindex: -1 });
      join();
      entered.k = steps.findIndex((one) => one.blocks.includes(first) && !one.intro.includes(first));
    }
    show(Math.min(number ?? entered.k, steps.length - 1));
  }
  // A screen takes as much as fits in letters that are still large.
  function join() {
    const size = Math.max(SMALLEST, 0.85 * largestNow()), gap = 0.5 * size;
    root.style.setProperty("--size", `${size}px`);
    foldIn([...main.querySelectorAll("details")]);
    steps = joined(single, (block) => block.offsetHeight + gap, room() - size).map((one) => ({ ...one, asked: false }));
    restore();
  }
  function restore() {
    opened.forEach((node) => { node.open = true; });
    main.querySelectorAll(".fold").forEach((node) => { node.open = opened.includes(node); });
  }
  function leave() {
    const { blocks: [...shown], intro } = step(), first = shown.find((block) => !intro.includes(block));
    const held = main.contains(document.activeElement) && document.activeElement !== main;
    tidy();
    root.classList.remove("presenting");
    main.removeAttribute("tabindex");
    for (const name of ["style", "data-dense"]) root.removeAttribute(name);
    restore();
    if (now === entered.k && !entered.hash.startsWith("#present-")) {
      window.scrollTo(0, entered.top);
      history.replaceState(null, "", entered.hash || location.pathname + location.search);
    } else {
      first.scrollIntoView();
      history.replaceState(null, "", `#${first.closest("[id]").id}`);
    }
    now = -1;
    if (held) return;
    first.tabIndex = -1; // the keyboard continues from here
    first.focus({ preventScroll: true });
    first.addEventListener("blur", () => first.removeAttribute("tabindex"), { once: true });
  }
  // The block at the top of the window that belongs to a step.
  function atTop() {
    const there = single.flatMap((one) => one.blocks.filter((block) => !one.intro.includes(block)));
    return there.find((block) => block.getBoundingClientRect().bottom > 40) ?? there.at(-1);
  }
  function answer() {
    if (waiting()) return ask();
    const closed = parts("details:not([open])")[0];
    if (closed) closed.open = true;
  }
  main.addEventListener("toggle", ({ target }) => presenting() && target.open && reveal(target), true);

  // A clicker sends page keys, so we always take them; we leave arrow keys to anything else
  // that they can move.
  function press(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const typing = target.matches?.("textarea, select, input:not([type=checkbox]), [contenteditable]");
    if (!presenting()) {
      if (key.toLowerCase() !== "p" || typing || event.repeat) return;
      event.preventDefault();
      return enter();
    }
    const scrolls = target.matches?.(".source, .python, .printed, .wide, .highlight") && target.scrollWidth > target.clientWidth;
    const moves = typing || scrolls || target.closest?.(".explore td, .explore svg, .explore canvas");
    const acts = typing || target.closest?.("a, button, summary, input, .explore");
    const does = {
      PageDown: forward,
      PageUp: back,
      Escape: leave,
      ArrowRight: !moves && forward,
      ArrowLeft: !moves && back,
      Enter: !acts && answer,
    }[key];
    if (!does || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat) does();
  }
  // before a view sees it
  window.addEventListener("keydown", press, true);
  for (const type of ["resize", "load"]) window.addEventListener(type, () => presenting() && fit());

  function follow() {
    const [, number] = /^#present-(\d+)$/.exec(location.hash) ?? [];
    if (number) return enter(Math.max(0, number - 1));
    const place = presenting() && document.getElementById(location.hash.slice(1));
    const k = place ? steps.findIndex((one) => one.blocks.some((block) => block.contains(place) || place.contains(block))) : -1;
    if (k >= 0) show(k);
  }
  window.addEventListener("hashchange", follow);
  button.hidden = false;
  button.addEventListener("click", () => enter());
  follow();
}

const presented = document.querySelector("button.present");
if (presented) presentation(document.querySelector("main"), presented);
