// Part of explore.js and of predict.js: what both are made of.

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

const makeShape = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
const makeButton = (textContent, onclick) => make("button", { type: "button", textContent, onclick });

// For an element or a Text: what changes with every move is a Text, since the browser would
// compute styles again for an element.
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Sets a text that may be too long for its box; the keyboard can then scroll the box, too.
function say(node, text) {
  setText(node, text);
  node.tabIndex = text && node.scrollHeight > node.clientHeight ? 0 : -1;
}

// undefined removes an attribute.
function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
}

const ZERO = /^-?0\.0+$/;
const spoken = (name) => name.replaceAll("_", " ");
const inside = (x, low, high) => Math.min(high, Math.max(low, x));
const isPress = ({ key, shiftKey, ctrlKey, metaKey }) => (key === "Enter" || key === " ") && !(shiftKey || ctrlKey || metaKey);
// The keys that save the notebook and run the cell keep their meaning everywhere.
const isCommand = ({ key, ctrlKey, metaKey, shiftKey }) =>
  (ctrlKey || metaKey) && key.toLowerCase() === "s" || (ctrlKey || metaKey || shiftKey) && key === "Enter";

// Keeps from the notebook what is typed in an element, until the returned function is called.
function keepKeys(root) {
  // otherwise the notebook would treat arrows and letters typed here as its commands
  root.addEventListener("keydown", (event) => { if (!isCommand(event)) event.stopPropagation(); });
  // Notebook 7 sees keys before they arrive here, unless the focused element has this attribute
  function suppress(event) {
    if (root.contains(event.target)) event.target.toggleAttribute("data-lm-suppress-shortcuts", !isCommand(event));
  }
  window.addEventListener("keydown", suppress, true);
  return () => window.removeEventListener("keydown", suppress, true);
}
