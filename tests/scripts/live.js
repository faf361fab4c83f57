// What test_live.py sees in a page. A view is found by the number of its cell.
window.live = {};
live.all = (box, which) => [...box.querySelectorAll(which)];
live.texts = (box, which) => live.all(box, which).map((e) => e.textContent);
live.find = (number) =>
    document.querySelector(`.jp-Cell[data-windowed-list-index="${number}"] .explore`);
live.frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

// the controls in a line: [the name, the field]
live.fields = (view) => live.all(view, '.control')
    .map((row) => [row.firstChild.textContent, row.querySelector('input, textarea, select')]);
// the values of the controls, as Python keeps them: [[name, value]] in the order of the names;
// the switches of cells are in the picture, which does not name them
live.values = (number, view = live.find(number)) => {
    const valueOf = (input) => ({ textarea: input.value, checkbox: input.checked }[input.type] ?? Number(input.value));
    const values = live.fields(view).map(([name, input]) => [name, valueOf(input)]);
    const switches = live.all(view, 'tbody tr')
        .map((tr) => live.all(tr, 'td[aria-selected]').map((e) => e.ariaSelected === 'true'))
        .filter((row) => row.length);
    if (switches.length) values.push(['cells', switches]);
    const dragged = Object.groupBy(live.all(view, 'svg .drags'), (e) => e.dataset.control.replaceAll('_', ' '));
    for (const [name, marks] of Object.entries(dragged)) values.push([name, marks.map(({ dataset: { value } }) =>
        (value.includes(',') ? value.split(',').map((x) => Number(Number(x).toFixed(2))) : Number(value)))]);
    return values.sort(([a], [b]) => (a < b ? -1 : 1));
};
live.shown = (view) => ({
    values: live.values(null, view),
    outputs: live.texts(view, 'output').map((text) => (isNaN(text) ? text : Number(text))),
    error: view.querySelector('.error').textContent,
    printed: view.querySelector('pre').textContent,
    caption: view.querySelector('.caption').textContent,
    status: view.querySelector('.cell').textContent,
    panels: live.all(view, '.panel').map((panel) => ({
        title: panel.querySelector('.title').textContent,
        corner: live.texts(panel, '.corner').join(),
        columns: live.texts(panel, 'thead th:not(.corner)'),
        rows: live.texts(panel, 'tbody th'),
        cells: live.texts(panel, 'td'),
        scale: live.texts(panel, '.key > span:not(.bar, .legend)'),
        legend: live.texts(panel, '.legend > span'),
        marks: live.all(panel, '.part g > :is(text, path)').map(live.mark),
    })),
    heads: live.all(view, '.head').map((e) => [e.textContent, e.ariaCurrent === 'true']),
});
// a mark of a drawing: what it is, its role, its text, its points
live.mark = (e) => {
    const path = e.getAttribute('d') ?? '', points = path.match(/-?[\d.]+/g)?.map(Number) ?? [];
    const at = e.tagName === 'text' ? ['x', 'y'].map((x) => Number(e.getAttribute(x))) : points;
    return [`${e.getAttribute('class')} ${e.dataset.role}`, e.textContent, path.endsWith('h0') ? at.slice(0, 2) : at];
};
live.pixel = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
live.useColours = (palette) => {
    const parts = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
    live.palette = palette.map((colour) => live.pixel(parts(colour)));
};
// of each figure how many cells have another colour than that of the palette, 255 for none
live.miscoloured = (view, figures) => live.all(view, '.panel, .head').map((box, k) => {
    const canvas = box.querySelector('canvas'), cells = live.all(box, 'td'), width = figures[k][0];
    if (canvas && canvas.width !== width) return `${canvas.width} wide`;
    const image = canvas?.getContext('2d').getImageData(0, 0, width, canvas.height);
    const pixels = canvas && new Uint32Array(image.data.buffer);
    return figures[k][1].reduce((wrong, colour, at) => {
        if (canvas) return wrong + (pixels[at] !== (live.palette[colour] ?? 0xffffffff));
        if (colour === 255) return wrong + !/none|sum|mark/.test(cells[at].dataset.kind);
        const shown = getComputedStyle(cells[at]).backgroundColor.match(/\d+/g);
        return wrong + (live.pixel(shown) !== live.palette[colour]);
    }, 0);
});

// the numbers of its tables: [text, whether there is a mark under it]
live.numbers = (number) =>
    live.all(live.find(number), 'td').map((e) => [e.textContent, e.matches('.changed')]);

// Wait until a view shows what is right, as far as that says anything; what it shows
// instead after twenty seconds, {what: [shown, right]}, or null.
live.until = async ([number, { figures, ...right }]) => {
    const view = live.find(number), end = performance.now() + 20000;
    for (;;) {
        const now = live.shown(view);
        const differ = (key) => JSON.stringify(now[key]) !== JSON.stringify(right[key]);
        let wrong = Object.keys(right).filter(differ).map((key) => [key, [now[key], right[key]]]);
        if (!wrong.length && figures) {
            const miscoloured = live.miscoloured(view, figures);
            if (miscoloured.some(Boolean)) wrong = [['miscoloured', miscoloured]];
        }
        if (!wrong.length) return null;
        if (performance.now() > end) return Object.fromEntries(wrong);
        await new Promise(requestAnimationFrame);
    }
};

// what has the focus in a view
live.focused = (number) => [document.activeElement].find((e) => live.find(number).contains(e));
// what can be done with it
live.kinds = {
    amount: '.drags[role=slider]', vector: 'svg .drags', mark: 'svg g', word: 'th button', head: '.head', table: 'td', canvas: '.held',
    choice: 'select', slider: '[type=range]', checkbox: '[type=checkbox]', text: 'textarea',
    button: 'button',
};
live.kind = (e = document.activeElement) =>
    Object.keys(live.kinds).find((kind) => e.matches(live.kinds[kind])) ?? 'scroll';
// the cell that the mark with the focus explains: [panel, row, column]
live.pointed = (number) => {
    const mark = live.focused(number), cell = mark?.dataset.cell?.split(',').map(Number);
    return cell ? [live.all(live.find(number), '.panel').indexOf(mark.closest('.panel')), ...cell] : null;
};
// of a cell with the focus: the number of its panel, its rows and columns
live.place = (number) => {
    const cell = document.activeElement, grid = cell.closest('[role=grid]');
    const panel = live.all(live.find(number), '.panel').indexOf(cell.closest('.panel'));
    if (cell.matches('.held')) return [panel, Number(grid.ariaRowCount), Number(grid.ariaColCount)];
    return [panel, cell.closest('tbody').rows.length, cell.parentNode.cells.length - 1];
};
// as after the cell was run: the next Tab goes to what can be focused in it
live.select = async (number) => {
    const { content } = window.jupyterapp.shell.currentWidget;
    content.activeCellIndex = number;
    content.mode = 'command';
    content.activate();
    await live.frame();
    content.activeCell.node.focus();
};
// does what has the focus show it?
live.ring = () => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
};
// what a key would change that the notebook heard
live.notebook = () => {
    const { content } = window.jupyterapp.shell.currentWidget;
    const sources = [...content.model.cells].map((c) => c.sharedModel.getSource());
    return [content.mode, content.activeCellIndex, sources];
};

// what sticks out of the output or of its own box, and what covers something else
live.spoiled = (number) => {
    const view = live.find(number), wrong = [];
    const name = (e) => `${e.tagName} ${e.getAttribute('class')} ${e.textContent.slice(0, 20)}`;
    const output = view.closest('.jp-OutputArea-output').getBoundingClientRect();
    const parts = 'label, input, textarea, select, output, button, .control span, .error, .title, .scroll,'
        + ' .pixels, .part, .key, .bar, .head, .cell, .caption, pre';
    const sides = ['left', 'right', 'top', 'bottom'];
    // words, and the rings of what can be dragged
    const drawn = live.all(view, 'svg text, .drags .spot').map((e) => [e, e.getBoundingClientRect()]);
    for (const [k, [e, box]] of drawn.entries()) {
        const whole = e.closest('svg').getBoundingClientRect();
        if (sides.some((side, n) => (n % 2 ? box[side] - whole[side] : whole[side] - box[side]) > 1)) wrong.push(`${name(e)} is cut off`);
        for (const [other, there] of drawn.slice(0, k)) {
            if (other.parentNode === e.parentNode) continue;
            const wide = Math.min(box.right, there.right) - Math.max(box.left, there.left);
            const high = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
            if (wide > 1 && high > 5) wrong.push(`${name(e)} over ${name(other)}`);
        }
    }
    const boxes = live.all(view, parts).filter((e) => !e.closest('.scroll > *'))
        .map((e) => [e, e.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
    for (const [e, box] of boxes) {
        const scrolls = e.matches('.scroll'), free = scrolls || !e.clientWidth; // a table may
        if (box.left < output.left - 1 || box.right > output.right + 1)
            wrong.push(`${name(e)} sticks out`);
        const bar = e.offsetHeight - e.clientHeight; // that can be seen
        if (scrolls && e.scrollWidth > e.clientWidth + 1 && bar < 8) wrong.push(`${name(e)} hides a part`);
        const hides = e.scrollWidth > e.clientWidth + 1 || e.matches('textarea') && e.scrollHeight > e.clientHeight + 1;
        if (!free && hides) wrong.push(`${name(e)} is cut off`);
        for (const [other, there] of boxes) {
            if (e === other || e.contains(other) || other.contains(e)) continue;
            const wide = Math.min(box.right, there.right) - Math.max(box.left, there.left);
            const high = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
            if (wide > 1 && high > 1) wrong.push(`${name(e)} over ${name(other)}`);
        }
    }
    return wrong;
};

// what keeps a view from being seen at once, with its target and the code between them as it is
// shipped: too high, or blank bands in it
live.unseen = (number) => {
    const view = live.find(number), wrong = [], room = view.closest('.jp-WindowedPanel-outer');
    const parts = 'fieldset *, .title, table, canvas, svg, .key, .head, .caption, .slot > *, pre';
    const seen = live.all(view, parts).filter((e) => e.textContent || e.matches('input, canvas, svg'))
        .map((e) => e.getBoundingClientRect()).filter((box) => box.height)
        .sort((a, b) => a.top - b.top);
    const { top, bottom } = view.getBoundingClientRect();
    // what the reader is to reach stands in the nearest text above
    const above = [number - 1, number - 2, number - 3].map((n) => document.querySelector(`.jp-MarkdownCell[data-windowed-list-index="${n}"]`)).find(Boolean);
    const [target] = above ? live.all(above, '.jp-RenderedMarkdown p').filter((e) => /^Targets?:/.test(e.textContent)) : [];
    const high = bottom - (target?.getBoundingClientRect().top ?? top);
    if (high > room.clientHeight)
        wrong.push(`with its target ${high} px high, ${room.clientHeight} can be seen`);
    seen.reduce((low, box) => {
        if (box.top - low > 16) wrong.push(`blank from ${low - top} to ${box.top - top}`);
        return Math.max(low, box.bottom);
    }, top);
    return wrong;
};
// cells that are no colour: kinds of them that look like another one, or unlike their sample
live.alike = (number) => live.all(live.find(number), '.panel').flatMap((panel) => {
    const looks = { coloured: 'none' }, wrong = [];
    for (const e of live.all(panel, '[data-kind*=none], [data-kind*=mark]')) {
        const [kind] = e.dataset.kind.split(' ');
        const look = getComputedStyle(e).backgroundImage.replace(/^linear-gradient\(to left bottom.*? 50%\), /, ''); // off
        if ((looks[kind] ??= look) !== look) wrong.push(`${kind} in two ways: ${look} ${looks[kind]}`);
    }
    const seen = Object.values(looks);
    return seen.length > new Set(seen).size ? [...wrong, JSON.stringify(looks)] : wrong;
});

// look whether anything moves, also soon after an input, until live.moved() says what did
live.watch = (number) => {
    const view = live.find(number), moved = [];
    const note = ({ sources }) => {
        for (const { node, previousRect: a, currentRect: b } of sources) {
            // the status bar of JupyterLab has shifts of its own
            if (node && !view.closest('.jp-Notebook').contains(node)) continue;
            // all but its edge is out of sight, above the notebook's first line
            if (Math.max(a.height, b.height) < 8) continue;
            // the words below a picture may have one line more, while all else stays
            if ((node?.closest ? node : node?.parentElement)?.closest('.said')) continue;
            const what = node?.outerHTML?.slice(0, 60) ?? node?.data;
            moved.push(`${what}: ${a.x},${a.y} -> ${b.x},${b.y}`);
        }
    };
    const shifts = new PerformanceObserver((list) => list.getEntries().forEach(note));
    shifts.observe({ type: 'layout-shift' });
    live.moved = async () => {
        await live.frame();
        shifts.takeRecords().forEach(note);
        shifts.disconnect();
        return moved.slice(0, 5);
    };
};
