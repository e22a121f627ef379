// Charts: a few kinds of layers, drawn as SVG to fit the available width. Colours come from the
// style sheet by class, so they follow light, dark and print; text has one size everywhere.

const SVG = document.getElementById("drawing").namespaceURI;
const charts = [];
const PRINT_WIDTH = 660, PRINT_HEIGHT = 210, LEAST_WIDTH = 160;
let printing = false;

function svg(tag, attributes, parent) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (parent) parent.append(element);
  return element;
}

function html(tag, attributes, parent, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

// A cell with a name; a long name is cut to a few lines, with the whole name as its title.
const LONG_NAME = 200;
function nameCell(tag, attributes, parent, name) {
  // A letter with many combining marks cannot be broken into lines, so treat it as long.
  if (name.length <= LONG_NAME && !/\p{M}{9}/u.test(name)) return html(tag, attributes, parent, name);
  const cell = html(tag, attributes, parent);
  html("span", { class: "long", title: name }, cell, name);
  return cell;
}

// Writes a number with this many decimals; zero has no minus, and null is "unknown".
function written(value, digits = 3) {
  if (value === null || value === undefined) return "unknown";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}

function count(number) {
  return number.toLocaleString("en");
}

// Returns round numbers that divide [low, high] into about this many parts.
function ticks(low, high, parts) {
  const rough = (high - low) / Math.max(1, parts);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    out.push([k * step, (k * step || 0).toFixed(digits)]);
  }
  return out;
}

// Returns names at 1, 2, ..., as many of them as there is room for.
const LONG_TICK = 12;
function namedTicks(names, room) {
  const short = names.map((name) => {
    const letters = Array.from(name);
    return letters.length > LONG_TICK ? `${letters.slice(0, LONG_TICK - 1).join("")}…` : name;
  });
  const widest = 7 * Math.max(1, ...short.map((name) => name.length)) + 14;
  const step = Math.max(1, Math.ceil(widest * names.length / room));
  return short.map((name, k) => [k + 1, name]).filter((_, k) => k % step === 0);
}

// Returns the range of all known numbers, with a margin.
function domain(lists, margin = 0.06) {
  const known = lists.flat().filter((value) => value !== null && value !== undefined);
  if (!known.length) return [0, 1];
  let low = known[0], high = known[0];
  for (const value of known) { low = Math.min(low, value); high = Math.max(high, value); }
  const apart = high - low > 1e-9 * Math.max(1, Math.abs(high)) ? high - low : Math.abs(high) || 1;
  const room = apart * margin;
  return [low - room, high + room];
}

// Cuts a range at 0, for values that are never negative, such as an error.
function fromZero([low, high]) {
  return [Math.max(0, low), high];
}

// Makes a chart in a box; every redraw calls spec() again.
function chart(box, spec) {
  const drawing = { box, width: LEAST_WIDTH, draw: (width) => drawChart(box, spec(), width) };
  charts.push(drawing);
  const fit = () => {
    const width = Math.floor(box.clientWidth);
    if (printing || width < LEAST_WIDTH || width === drawing.width) return;
    drawing.width = width;
    drawing.draw(width);
  };
  new ResizeObserver(fit).observe(box);
  fit();
  return { redraw: () => drawing.draw(drawing.width) };
}

window.addEventListener("beforeprint", () => {
  printing = true;
  for (const drawing of charts) drawing.draw(drawing.box.closest(".panels, .two") ? PRINT_WIDTH / 2 : PRINT_WIDTH);
});
window.addEventListener("afterprint", () => {
  printing = false;
  for (const drawing of charts) drawing.draw(drawing.width);
});

function drawChart(box, spec, width) {
  const tall = Math.round(Math.min(360, Math.max(230, width * 0.42)));
  const height = printing ? Math.min(spec.rows ? Infinity : PRINT_HEIGHT, spec.height || tall) : spec.height || tall;
  const yTicks = spec.rows ? [] : ticks(...spec.y, Math.max(2, height / 42)).filter(
    ([value]) => !spec.yWhole || Number.isInteger(value));
  const widest = Math.max(0, ...(spec.rows || yTicks.map((tick) => tick[1])).map((t) => t.length));
  const left = Math.min(width * 0.4, 14 + 7 * widest + (spec.yLabel ? 14 : 0));
  const direct = directLabels(spec, width);
  const room = Math.max(24, ...direct.filter(({ layer }) => layer.type !== "rule").map(({ text }) => 14 + LETTER * text.length));
  const frame = { left, top: direct.some(({ layer }) => layer.type === "rule") ? 24 : 10, right: width - room, bottom: height - 42 };
  const x = (value) =>
    frame.left + ((value - spec.x[0]) / (spec.x[1] - spec.x[0])) * (frame.right - frame.left);
  const y = (value) =>
    frame.bottom - ((value - spec.y[0]) / (spec.y[1] - spec.y[0])) * (frame.bottom - frame.top);
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spec.label, class: "drawing",
  });
  drawAxes(root, spec, frame, x, y, yTicks, height);
  const inside = svg("svg", {
    x: frame.left, y: frame.top, width: frame.right - frame.left,
    height: frame.bottom - frame.top,
    viewBox: `${frame.left} ${frame.top} ${frame.right - frame.left} ${frame.bottom - frame.top}`,
    overflow: "hidden", "aria-hidden": "true",
  }, root);
  // Marks on the frame must not be clipped, so they are drawn above it.
  const above = svg("g", { "aria-hidden": "true" });
  for (const layer of spec.layers) LAYERS[layer.type](layer, { inside, above, x, y, frame });
  const named = new Set(writeDirect(direct, above, frame, x, y));
  root.append(above);
  box.replaceChildren(root, legend(spec.layers.filter((layer) => !named.has(layer))));
}

// Returns the layers that are named in the chart: lines at their ends, upright lines above. On a
// narrow screen, and for long names, the legend names them.
const LETTER = 6.9, DIRECT_WIDTH = 500, LONGEST_DIRECT = 26;
function directLabels(spec, width) {
  if (width < DIRECT_WIDTH || spec.rows) return [];
  return spec.layers
    .filter((layer) => layer.name && ["line", "level", "rule"].includes(layer.type))
    .map((layer) => ({ layer, text: layer.name }))
    .filter(({ layer, text }) => text.length <= LONGEST_DIRECT &&
      (layer.type === "line" ? layer.x.some((_, k) => drawn(layer, k)) : layer.at !== null));
}

function drawn(layer, k) {
  return layer.x[k] !== null && layer.x[k] !== undefined && layer.y[k] !== null && layer.y[k] !== undefined;
}

function within(frame, x, y) {
  return x >= frame.left - 0.5 && x <= frame.right + 0.5 && y >= frame.top - 0.5 && y <= frame.bottom + 0.5;
}

// Writes each name at the right, beside the end of its line, one below the other. Returns the layers
// named; a line that ends elsewhere is left to the legend.
const LINE_HEIGHT = 14, NEAR_END = 60;
function writeDirect(direct, above, frame, x, y) {
  const beside = [], named = [];
  for (const { layer, text } of direct) {
    if (layer.type === "rule") {
      const at = x(layer.at), end = at > (frame.left + frame.right) / 2;
      named.push(layer);
      write(above, text, at, frame.top - 6, end ? "end" : "start");
      continue;
    }
    const places = layer.type === "level" ? [[frame.right, y(layer.at)]]
      : layer.x.map((_, k) => k).filter((k) => drawn(layer, k)).map((k) => [x(layer.x[k]), y(layer.y[k])]);
    const seen = places.filter(([across, up]) => within(frame, across, up));
    const [across, up] = seen.reduce((a, b) => (b[0] >= a[0] ? b : a), [0, 0]);
    if (across < frame.right - NEAR_END) continue;
    named.push(layer);
    beside.push({ text, up });
  }
  beside.sort((a, b) => a.up - b.up);
  const most = frame.bottom - LINE_HEIGHT * (beside.length - 1);
  let last = frame.top - LINE_HEIGHT;
  beside.forEach((label, k) => {
    label.at = Math.min(Math.max(label.up, last + LINE_HEIGHT), most + LINE_HEIGHT * k);
    last = label.at;
    write(above, label.text, frame.right + 8, label.at + 4, "start");
  });
  return named;
}

function write(parent, words, x, y, anchor) {
  const label = svg("text", { x, y, class: "name", "text-anchor": anchor }, parent);
  label.textContent = words;
}

function drawAxes(root, spec, frame, x, y, yTicks, height) {
  const axes = svg("g", { class: "axes", "aria-hidden": "true" }, root);
  for (const [value, text] of yTicks) {
    svg("line", { x1: frame.left, x2: frame.right, y1: y(value), y2: y(value), class: "grid" }, axes);
    const label = svg("text", { x: frame.left - 6, y: y(value) + 4, "text-anchor": "end" }, axes);
    label.textContent = text;
  }
  (spec.rows || []).forEach((name, row) => {
    const label = svg("text", { x: frame.left - 8, y: y(row) + 4, "text-anchor": "end" }, axes);
    const room = Math.floor((frame.left - 12) / 7);
    const letters = Array.from(name); // keeps surrogate pairs whole
    label.textContent = letters.length > room ? `${letters.slice(0, Math.max(1, room - 1)).join("")}…` : name;
  });
  const across = spec.xNames ? namedTicks(spec.xNames, frame.right - frame.left)
    : ticks(...spec.x, Math.max(2, (frame.right - frame.left) / 62));
  for (const [value, text] of across) {
    svg("line", { x1: x(value), x2: x(value), y1: frame.bottom, y2: frame.bottom + 4, class: "axis" }, axes);
    const said = spec.xWhole ? count(Number(text)) : text;
    const near = x(value) + 3.5 * said.length > frame.right + 22; // a centred label would be clipped
    const label = svg("text", {
      x: near ? frame.right + 22 : x(value), y: frame.bottom + 17, "text-anchor": near ? "end" : "middle",
    }, axes);
    label.textContent = said;
  }
  svg("line", { x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom, class: "axis" }, axes);
  const middle = (frame.left + frame.right) / 2;
  const below = svg("text", { x: middle, y: height - 6, "text-anchor": "middle", class: "title" }, axes);
  // If there is no room, show only the part before the colon.
  const room = 6.3 * spec.xLabel.length < frame.right - frame.left + 40;
  below.textContent = room ? spec.xLabel : spec.xLabel.split(":")[0];
  if (spec.yLabel) {
    const at = (frame.top + frame.bottom) / 2;
    const beside = svg("text", {
      x: 11, y: at, "text-anchor": "middle", class: "title", transform: `rotate(-90 11 ${at})`,
    }, axes);
    beside.textContent = spec.yLabel;
  }
}

// Returns "M x y L x y ...", with gaps at unknown numbers.
function path(xs, ys, x, y) {
  let out = "", pen = "M";
  xs.forEach((at, k) => {
    if (at === null || ys[k] === null) { pen = "M"; return; }
    out += `${pen}${x(at).toFixed(1)} ${y(ys[k]).toFixed(1)}`;
    pen = "L";
  });
  return out;
}

function stairs(edges, counts, x, y) {
  let out = `M${x(edges[0]).toFixed(1)} ${y(0).toFixed(1)}`;
  counts.forEach((number, k) => {
    out += `V${y(number).toFixed(1)}H${x(edges[k + 1]).toFixed(1)}`;
  });
  return `${out}V${y(0).toFixed(1)}`;
}

function mark(shape, tone, at, up, parent) {
  const filled = { class: `fill-${tone} mark` };
  if (shape === "dot") svg("circle", { cx: at, cy: up, r: 3, ...filled }, parent);
  else if (shape === "big") svg("circle", { cx: at, cy: up, r: 6, ...filled }, parent);
  else if (shape === "square") svg("rect", { x: at - 3, y: up - 3, width: 6, height: 6, ...filled }, parent);
  else if (shape === "triangle") svg("path", { d: `M${at} ${up - 4.5}l4.2 7.5h-8.4z`, ...filled }, parent);
  else if (shape === "diamond") svg("path", { d: `M${at} ${up - 4.5}l4.5 4.5l-4.5 4.5l-4.5 -4.5z`, ...filled }, parent);
  else if (shape === "down") svg("path", { d: `M${at} ${up + 4.5}l4.2 -7.5h-8.4z`, ...filled }, parent);
  else if (shape === "cross") {
    svg("path", { d: `M${at - 5} ${up - 5}l10 10m0 -10l-10 10`, class: `stroke-${tone} heavy` }, parent);
  }
}

const LAYERS = {
  line(layer, { inside, above, x, y, frame }) {
    const dash = layer.dash ? { "stroke-dasharray": layer.dash } : {};
    const style = `line stroke-${layer.tone}${layer.thin ? " thin" : ""}`;
    svg("path", { d: path(layer.x, layer.y, x, y), class: style, ...dash }, inside);
    if (!layer.mark) return;
    layer.x.forEach((at, k) => {
      if (drawn(layer, k) && within(frame, x(at), y(layer.y[k]))) mark(layer.mark, layer.tone, x(at), y(layer.y[k]), above);
    });
  },
  // Draws marks without a line.
  marks(layer, { above, x, y, frame }) {
    layer.x.forEach((at, k) => {
      const up = layer.y[k];
      if (!drawn(layer, k) || !within(frame, x(at), y(up))) return;
      mark(layer.mark, layer.tone, x(at), y(up), above);
      if (!layer.texts) return;
      const before = x(at) > frame.right - 40;
      const text = svg("text", {
        x: x(at) + (before ? -9 : 9), y: y(up) - 8, class: "direct",
        "text-anchor": before ? "end" : "start",
      }, above);
      text.textContent = layer.texts[k];
    });
  },
  band(layer, { inside, x, y }) {
    const known = layer.x.map((_, k) => k).filter((k) => layer.low[k] !== null && layer.high[k] !== null);
    if (!known.length) return;
    const there = known.map((k) => `${x(layer.x[k]).toFixed(1)} ${y(layer.high[k]).toFixed(1)}`);
    const back = known.reverse().map((k) => `${x(layer.x[k]).toFixed(1)} ${y(layer.low[k]).toFixed(1)}`);
    svg("path", { d: `M${[...there, ...back].join("L")}Z`, class: `area fill-${layer.tone}` }, inside);
  },
  // Draws a vertical bar from low to high at each x.
  sticks(layer, { inside, x, y }) {
    const parts = layer.x.map((at, k) => layer.low[k] === null || layer.high[k] === null ? ""
      : `M${x(at).toFixed(1)} ${y(layer.low[k]).toFixed(1)}V${y(layer.high[k]).toFixed(1)}`);
    const apart = layer.x.length > 1 ? x(layer.x[1]) - x(layer.x[0]) : 4;
    svg("path", { d: parts.join(""), class: `stick stroke-${layer.tone}`, "stroke-width": Math.min(2, 0.45 * apart) }, inside);
  },
  // Draws a horizontal bar from low to high in each row.
  ranges(layer, { inside, x, y }) {
    layer.low.forEach((low, k) => {
      if (low === null) return;
      svg("path", { d: `M${x(low).toFixed(1)} ${y(k)}H${x(layer.high[k]).toFixed(1)}`, class: `range stroke-${layer.tone}${layer.thin ? " thin" : ""}` }, inside);
    });
  },
  bars(layer, { inside, x, y }) {
    layer.counts.forEach((number, k) => {
      if (!number) return;
      const from = x(layer.edges[k]), to = x(layer.edges[k + 1]);
      svg("rect", {
        x: (from + 0.5).toFixed(1), width: Math.max(0.5, to - from - 1).toFixed(1),
        y: y(number).toFixed(1), height: (y(0) - y(number)).toFixed(1), class: `bars fill-${layer.tone}`,
      }, inside);
    });
  },
  outline(layer, { inside, x, y }) {
    svg("path", { d: stairs(layer.edges, layer.counts, x, y), class: `line stroke-${layer.tone}`, "stroke-dasharray": layer.dash || "" }, inside);
  },
  // Draws a horizontal (level) or vertical (rule) line through the whole chart.
  level(layer, { inside, y, frame }) {
    if (layer.at === null) return;
    svg("line", { x1: frame.left, x2: frame.right, y1: y(layer.at), y2: y(layer.at), class: `line stroke-${layer.tone}`, "stroke-dasharray": layer.dash || "" }, inside);
  },
  rule(layer, { inside, x, frame }) {
    if (layer.at === null) return;
    svg("line", { x1: x(layer.at), x2: x(layer.at), y1: frame.top, y2: frame.bottom, class: `line stroke-${layer.tone}`, "stroke-dasharray": layer.dash || "" }, inside);
  },
  span(layer, { inside, x, y, frame }) {
    if (layer.from === null || layer.to === null) return;
    const box = layer.across
      ? { x: frame.left, width: frame.right - frame.left, y: y(layer.to), height: y(layer.from) - y(layer.to) }
      : { x: x(layer.from), width: x(layer.to) - x(layer.from), y: frame.top, height: frame.bottom - frame.top };
    svg("rect", { ...box, class: `area fill-${layer.tone}` }, inside);
  },
};

// Returns the legend: each named layer with a sample of its line, mark or area.
function legend(layers) {
  const list = html("ul", { class: "legend" });
  for (const layer of layers.filter((layer) => layer.name)) {
    const item = html("li", {}, list);
    const sample = svg("svg", { width: 30, height: 12, viewBox: "0 0 30 12", "aria-hidden": "true" }, item);
    if (["band", "span"].includes(layer.type)) {
      svg("rect", { x: 1, y: 1, width: 28, height: 10, class: `area fill-${layer.tone}` }, sample);
    } else if (layer.type === "bars") {
      svg("rect", { x: 1, y: 1, width: 28, height: 10, class: `bars fill-${layer.tone}` }, sample);
    } else if (layer.type === "sticks") {
      svg("path", { d: "M9 0V12M15 0V12M21 0V12", class: `stick stroke-${layer.tone}`, "stroke-width": 1.5 }, sample);
    } else if (layer.type === "ranges") {
      svg("path", { d: "M1 6H29", class: `range stroke-${layer.tone}${layer.thin ? " thin" : ""}` }, sample);
    } else if (layer.type !== "marks") {
      svg("line", { x1: 1, x2: 29, y1: 6, y2: 6, class: `line stroke-${layer.tone}${layer.thin ? " thin" : ""}`, "stroke-dasharray": layer.dash || "" }, sample);
    }
    if (layer.mark) mark(layer.mark, layer.tone, 15, 6, sample);
    html("span", {}, item, layer.name);
  }
  return list;
}
