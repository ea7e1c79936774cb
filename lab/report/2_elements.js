// Elements contain only text, so that the contents of a file never become HTML.

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false && child !== "") made.append(child);
  }
  return made;
}

const cell = (kind, content) => element("td", {class: kind}, content);

function tableOf(head, rows, kind = "") {
  const words = kind === "summary" ? head.length : 1;
  const heads = head.map((text, i) => element("th", {class: i < words ? "word" : "", scope: "col"}, text));
  return element("table", {class: kind}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows));
}

function foldOf(title, fill) {
  const made = element("details", {}, element("summary", {}, title));
  // Folded content is drawn when it is first opened.
  let filled = false;
  made.addEventListener("toggle", () => {
    if (!made.open || filled) return;
    filled = true;
    made.append(...[fill()].flat());
  });
  return made;
}

const SHAPES = {
  diamond: "M8 1 L15 8 L8 15 L1 8 Z",
  square: "M2.5 2.5 H13.5 V13.5 H2.5 Z",
  up: "M8 1.5 L15 14 H1 Z",
  down: "M8 14.5 L1 2 H15 Z",
};

// The mark for one of the sources of published figures.
const shapeOf = (sources, source) => Object.keys(SHAPES)[sources.indexOf(source) % Object.keys(SHAPES).length];

function markOf(shape) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("viewBox", "0 0 16 16");
  made.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", SHAPES[shape]);
  path.setAttribute("fill", "none");
  path.setAttribute("stroke", "var(--published)");
  path.setAttribute("stroke-width", "2");
  made.append(path);
  return made;
}
