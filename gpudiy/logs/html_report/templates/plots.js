// Drawings: the heat map, the scatter of two chips, intervals and bars.

const MAP_LEFT = 150, MAP_HEIGHT = 300, MAP_GAP = 1, LOWEST = -7;  // the power of ten where a logarithmic axis starts

function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

/** The backgrounds of the heat scale, as the style sheet has them for this theme. */
function heatColours() {
  const probe = make("i");
  document.body.append(probe);
  const found = [""];
  for (let step = 1; step <= 12; step++) {
    probe.className = `h${step}`;
    found.push(getComputedStyle(probe).backgroundColor);
  }
  probe.remove();
  return found;
}

/** A canvas as sharp as the screen, cleared; sizes are in CSS pixels. */
function sharpened(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

class HeatMap {
  constructor(canvas, open) {
    this.canvas = canvas;
    this.tests = [];
    canvas.addEventListener("mousemove", (event) => this.point(event));
    canvas.addEventListener("mouseleave", () => tip.hide());
    canvas.addEventListener("click", (event) => {
      const hit = this.hit(event);
      if (hit) open(hit.test);
    });
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
  }

  setTests(tests) {
    this.tests = tests;
    this.draw();
  }

  draw() {
    const width = this.canvas.parentElement.clientWidth;
    if (!width) return;
    this.left = width < 640 ? 96 : MAP_LEFT;
    this.row = Math.max(13, Math.min(22, Math.floor(MAP_HEIGHT / report.chipCount)));
    const height = report.chipCount * this.row + 4;
    const context = sharpened(this.canvas, width, height);
    const colour = colours(), heat = heatColours();
    this.column = Math.min(40, (width - this.left) / Math.max(1, this.tests.length));
    context.font = `${Math.min(12, this.row - 2)}px ${colour("--sans")}`;
    context.textBaseline = "middle";
    for (let chip = 0; chip < report.chipCount; chip++) {
      const top = chip * this.row + 2;
      context.fillStyle = colour("--quiet");
      context.fillText(clipped(context, report.chips[chip].name, this.left - 12), 0, top + this.row / 2);
      this.drawChip(context, chip, top, heat, colour);
    }
  }

  drawChip(context, chip, top, heat, colour) {
    const gap = this.column > 4 ? MAP_GAP : 0;
    const bands = this.column >= 1 ? this.tests.length : Math.round(this.column * this.tests.length);
    for (let band = 0; band < bands; band++) {
      const from = Math.floor(band * this.tests.length / bands), to = Math.floor((band + 1) * this.tests.length / bands);
      let best = -1, state = NONE;  // where tests are narrower than a pixel, the hottest is shown
      for (let place = from; place < to; place++) {
        const cell = report.cell(this.tests[place], chip);
        if (report.state[cell] !== NONE && report.heat[cell] > best) [best, state] = [report.heat[cell], report.state[cell]];
      }
      const left = this.left + (this.column >= 1 ? band * this.column : band);
      const width = Math.max(1, this.column) - gap;
      if (state === NONE) continue;
      context.fillStyle = best > 0 ? heat[best] : state === ZERO ? colour("--zero") : colour("--hatch");
      context.fillRect(left, top, width, this.row - MAP_GAP - 1);
    }
  }

  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - this.left, y = event.clientY - box.top - 2;
    const place = Math.floor(x / this.column), chip = Math.floor(y / this.row);
    if (x < 0 || place >= this.tests.length || chip < 0 || chip >= report.chipCount) return null;
    return { test: this.tests[place], chip };
  }

  point(event) {
    const hit = this.hit(event);
    this.canvas.style.cursor = hit ? "pointer" : "default";
    if (!hit) return tip.hide();
    tip.show(event, report.names[hit.test], `${report.chips[hit.chip].name}: ${report.describeCell(report.cell(hit.test, hit.chip))}`);
  }
}

function clipped(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}

class Scatter {
  constructor(canvas, open) {
    this.canvas = canvas;
    this.points = [];
    canvas.addEventListener("mousemove", (event) => {
      const near = this.near(event);
      canvas.style.cursor = near ? "pointer" : "default";
      if (near) tip.show(event, report.names[near.test], this.describe(near.test));
      else tip.hide();
    });
    canvas.addEventListener("mouseleave", () => tip.hide());
    canvas.addEventListener("click", (event) => {
      const near = this.near(event);
      if (near) open(near.test);
    });
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
  }

  setPair(tests, a, b) {
    this.pair = { tests, a, b };
    this.draw();
  }

  draw() {
    const width = Math.min(460, this.canvas.parentElement.clientWidth);
    if (!width || !this.pair) return;
    const size = width, margin = 54, zero = 22;
    const context = sharpened(this.canvas, size, size);
    const colour = colours();
    const lengthOf = size - margin - zero - 20;
    const at = (rate) => rate > 0 ? zero + lengthOf * Math.max(0, 1 - Math.log10(rate) / LOWEST) : zero / 2;
    const x = (rate) => margin + at(rate), y = (rate) => size - margin - at(rate);
    this.drawAxes(context, colour, { size, margin, x, y });
    this.points = [];
    for (const test of this.pair.tests) {
      const [one, other] = [this.pair.a, this.pair.b].map((chip) => report.cell(test, chip));
      const both = [one, other].every((cell) => report.state[cell] === OBSERVED || report.state[cell] === ZERO);
      if (!both) continue;
      this.points.push({ test, x: x(report.rate(one)), y: y(report.rate(other)), kind: difference(one, other) });
    }
    const shades = { a: colour("--heat-ink"), b: colour("--accent"), "a?": colour("--heat-ink"), "b?": colour("--accent") };
    const many = this.points.length > 500;
    for (const point of this.points) {
      context.beginPath();
      context.arc(point.x, point.y, many ? 2.5 : 4.5, 0, 2 * Math.PI);
      context.strokeStyle = context.fillStyle = shades[point.kind] ?? colour("--quiet");
      context.globalAlpha = many ? 0.45 : 0.75;
      if (point.kind.endsWith("?")) context.stroke();
      else context.fill();
      context.globalAlpha = 1;
    }
  }

  describe(test) {
    return [this.pair.a, this.pair.b].map((chip) => `${report.chips[chip].name}: ${report.describeCell(report.cell(test, chip))}`).join("\n");
  }

  drawAxes(context, colour, { size, margin, x, y }) {
    context.font = `11px ${colour("--sans")}`;
    context.lineWidth = 1;
    for (const rate of [0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1]) {
      const word = rate === 0 ? "0" : rate < 1e-5 ? "0.1" : rate < 1e-2 ? String(Math.round(rate * 1e5)) : `${Math.round(rate * 100)}k`;
      context.strokeStyle = colour("--line");
      context.beginPath();
      context.moveTo(x(rate), y(0) + 8);
      context.lineTo(x(rate), y(1) - 4);
      context.moveTo(x(0) - 8, y(rate));
      context.lineTo(x(1) + 4, y(rate));
      context.stroke();
      context.fillStyle = colour("--quiet");
      context.textAlign = "center";
      context.textBaseline = "top";
      context.fillText(word, x(rate), size - margin + 6);
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillText(word, margin - 6, y(rate));
    }
    context.strokeStyle = colour("--line-strong");
    context.beginPath();
    context.moveTo(x(1e-7), y(1e-7));
    context.lineTo(x(1), y(1));
    context.stroke();
    context.fillStyle = colour("--ink");
    context.font = `600 12px ${colour("--sans")}`;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(`${report.chips[this.pair.a].name}, per 100k`, (x(0) + x(1)) / 2, size - 8);
    context.save();
    context.translate(4, (y(0) + y(1)) / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "top";
    context.fillText(`${report.chips[this.pair.b].name}, per 100k`, 0, 0);
    context.restore();
  }

  near(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, distance = 100;
    for (const point of this.points) {
      const away = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (away < distance) [best, distance] = [point, away];
    }
    return best;
  }
}

/** The rate and interval of a cell on a logarithmic axis, or the bound of its zero. */
function intervalBar(cell) {
  const state = report.state[cell];
  const width = 220, at = (rate) => 4 + (width - 8) * Math.max(0, Math.min(1, 1 - Math.log10(Math.max(rate, 1e-9)) / LOWEST));
  const picture = make("svg:svg", { viewBox: `0 0 ${width} 20`, class: "interval", "aria-hidden": "true" });
  picture.append(make("svg:line", { x1: 4, x2: width - 4, y1: 10, y2: 10, class: "axis" }));
  for (const rate of [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1]) picture.append(make("svg:line", { x1: at(rate), x2: at(rate), y1: 8, y2: 12, class: "axis" }));
  if (state === OBSERVED) {
    const { low, high } = report.ends(cell);
    picture.append(make("svg:rect", { x: at(low), width: Math.max(2, at(high) - at(low)), y: 6, height: 8, rx: 3, class: "range" }));
    picture.append(make("svg:circle", { cx: at(report.rate(cell)), cy: 10, r: 4, class: "mark" }));
  } else if (state === ZERO) {
    picture.append(make("svg:rect", { x: 4, width: Math.max(2, at(report.bound(report.n[cell])) - 4), y: 7, height: 6, rx: 3, class: "open" }));
  }
  return picture;
}

/** Bars of the sixteen incantations of a test on a chip. */
function incantationBars(entries) {
  const most = Math.max(1e-9, ...entries.map((entry) => entry[4] ? entry[3] / entry[4] : 0));
  const byNumber = new Map(entries.map((entry) => [entry[2], entry]));
  const bars = make("div", { class: "bars" });
  for (let number = 0; number < 16; number++) {
    const entry = byNumber.get(number);
    const rate = entry?.[4] ? entry[3] / entry[4] : 0;
    const value = entry ? entry[4] ? per100k(entry[3], entry[4]) : "–" : "";
    bars.append(make("div", { class: "bar", title: `${switchesTold(number)}: ${value === "" ? "no record" : `${value} per 100k`}` },
      make("span", { class: "bar-value" }, value),
      make("span", { class: `bar-fill${entry && entry[5] ? ` h${entry[5]}` : ""}`, style: `height:${rate ? Math.max(2, 100 * rate / most) : 0}px` }),
      make("span", { class: "dots", "aria-hidden": "true" }, ...SWITCHES.map((_, bit) => make("i", { class: number >> (3 - bit) & 1 ? "on" : "" }))),
      make("span", { class: "bar-name" }, letters(number))));
  }
  return bars;
}

const tip = {
  show(event, title, text) {
    const element = byId("tip");
    element.replaceChildren(make("b", {}, title), ...text.split("\n").map((line) => make("span", {}, line)));
    element.hidden = false;
    const { width, height } = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    element.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  },
  hide() { byId("tip").hidden = true; },
};
