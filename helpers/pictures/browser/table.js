// Part of explore.js: a matrix up to 16 by 16, as a table with the numbers.

// The cells that Python marks with a word: place => {word, kind}, the first word if there are two.
function marksOf({ marked = [] }) {
  const found = new Map();
  for (const [n, [word, places]] of marked.entries()) {
    for (const place of places) if (!found.has(place)) found.set(place, { word, kind: `mark${n}` });
  }
  return found;
}

// What each cell shows: its text, its colour, and what kind of cell it is, for the style. A zero
// without a colour of its own says nothing.
function looksOf(panel, whiteFrom) {
  const { size, columns, cells, colours } = panel, lit = new Set(panel.lit), marked = marksOf(panel);
  return cells.map((text, place) => {
    const [i, j] = [Math.floor(place / columns.length), place % columns.length], colour = colours[place];
    const own = colour === NONE ? "none" : colour >= whiteFrom ? "white" : "";
    const kind = i >= size[0] || j >= size[1] ? "sum" : marked.get(place)?.kind ?? own;
    const quiet = ["", "none", "mark0"].includes(kind) && [0, NONE].includes(colour) && ZERO.test(text) ? " quiet" : "";
    return { text, colour, kind: kind + quiet + (lit.has(place) ? " lit" : "") };
  });
}

// Built again when its size changes; otherwise only changed cells are updated.
function makeTable(palette, { look, press, choose }) {
  const [colours, whiteFrom] = palette;
  const box = make("div", { className: "scroll" }), table = make("table");
  let cells = [], shown = [], heads = [], sides = [], corner, named = "", held = 0, width = 0;
  box.append(table);

  function makeCell(i, j) {
    const cell = make("td", { tabIndex: i || j ? -1 : 0 });
    cell.addEventListener("focus", () => {
      cells[held].tabIndex = -1;
      cell.tabIndex = 0;
      held = i * width + j;
      look(i, j);
    });
    cell.addEventListener("mouseenter", () => look(i, j));
    cell.addEventListener("click", () => { look(i, j); press(i, j); });
    return cell;
  }
  function makeHeader(scope, k) {
    const button = choose && makeButton("", () => choose.choose(choose.option(button.textContent, k)));
    return make("th", { scope }, button ?? "");
  }
  function build({ rows, columns }) {
    corner = make("th", { className: "corner" });
    heads = columns.map((_, k) => makeHeader("col", k));
    sides = rows.map((_, k) => makeHeader("row", k));
    width = columns.length;
    held = 0;
    cells = rows.flatMap((_row, i) => columns.map((_column, j) => makeCell(i, j)));
    shown = cells.map(() => ({}));
    table.classList.toggle("dense", width > 8);
    table.style.setProperty("--columns", width);
    table.style.setProperty("--rows", rows.length);
    table.replaceChildren(
      make("thead", {}, make("tr", {}, corner, ...heads)),
      make("tbody", {}, ...rows.map((_, i) => make("tr", {}, sides[i], ...cells.slice(i * width, (i + 1) * width)))),
    );
  }
  table.addEventListener("keydown", (event) => {
    if (event.target.tagName !== "TD") return;
    const step = strides[event.key], [i, j] = [Math.floor(held / width), held % width];
    if (!step && !isPress(event)) return;
    event.preventDefault();
    if (!step && !event.repeat) press(i, j);
    if (step) cells[inside(i + step[0], 0, sides.length - 1) * width + inside(j + step[1], 0, width - 1)].focus();
  });

  function nameAll(nodes, names, count, mayAsk) {
    names.forEach((name, k) => {
      const button = nodes[k].firstElementChild;
      setText(button ?? nodes[k], name);
      set(nodes[k], { title: name || undefined, role: name ? undefined : "cell" }); // without a name it heads nothing
      if (!button) return;
      const query = mayAsk && k < count ? choose.option(name, k) : null;
      button.disabled = query === null;
      set(button, { "aria-pressed": query === null ? undefined : query === choose.chosen() });
    });
  }
  // No picture and no column becomes narrower, or everything next to it would jump.
  function keepWidth(isNew) {
    if (isNew) box.style.minWidth = `min(100cqw, ${box.offsetWidth}px)`;
    else {
      const wide = [corner, ...heads].map((node) => [node, node.getBoundingClientRect().width]);
      for (const [node, pixels] of wide) node.style.minWidth = `${pixels}px`;
    }
  }
  function draw(panel) {
    const { rows, columns, size, axes } = panel, words = String([rows, columns]);
    const isNew = heads.length !== columns.length || sides.length !== rows.length;
    if (cells.length && (isNew || named !== words)) keepWidth(isNew);
    if (isNew) build(panel);
    named = words;
    setText(corner, [axes[0] && `${axes[0]} ↓`, axes[1] && `${axes[1]} →`].filter(Boolean).join("\n"));
    // a query is a row; with only one row, the columns name the words
    nameAll(heads, columns, size[1], rows.length === 1);
    nameAll(sides, rows, size[0], rows.length > 1);
    shown = looksOf(panel, whiteFrom).map((now, place) => {
      const cell = cells[place], was = shown[place];
      if (was.kind !== now.kind) cell.dataset.kind = now.kind;
      if (was.colour !== now.colour) cell.style.backgroundColor = now.colour === NONE ? "" : colours[now.colour];
      if (was.text !== now.text) cell.textContent = now.text;
      // set if and only if the last move changed the number: a line under it shows that
      cell.classList.toggle("changed", !isNew && was.text !== now.text);
      return now;
    });
  }
  // Cells that are switches: one that is on is a selected cell of a grid, also for the style.
  function mark(on, hint) {
    set(table, { role: "grid", "aria-multiselectable": true, "aria-describedby": hint });
    cells.forEach((cell, place) => set(cell, { "aria-selected": on[Math.floor(place / width)]?.[place % width] }));
  }
  return { box, named: table, draw, mark };
}
