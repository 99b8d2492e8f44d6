// The views: all tests, two chips, incantations, the guide.

/** How two cells differ: "a" or "b" for who alone showed the outcome, with "?" where a zero is too weak to say so. */
function difference(one, other) {
  const [left, right] = [report.state[one], report.state[other]];
  if (left === OBSERVED && right === ZERO) return report.surelyMore(one, other) ? "a" : "a?";
  if (left === ZERO && right === OBSERVED) return report.surelyMore(other, one) ? "b" : "b?";
  if (left === OBSERVED && right === OBSERVED) return "both";
  return left === ZERO && right === ZERO ? "neither" : "";
}

function fillObservation(element, cell, counts) {
  const state = report.state[cell];
  element.textContent = report.shownCell(cell, counts);
  if (state === OBSERVED) element.classList.add("strong", `h${report.heat[cell]}`);
  else if (state === ZERO) element.classList.add("zero");
  else if (state !== NONE) element.classList.add("hatch");
  if (state !== NONE) element.title = report.describeCell(cell);
}

/** For sorting: what was seen by its rate, then zeros by their bound, then what is not evidence, then nothing. */
function rank(cell) {
  const state = report.state[cell];
  if (state === OBSERVED) return report.rate(cell);
  if (state === ZERO) return -report.bound(report.n[cell]);
  return state === NONE ? -3 : -2;
}

function nameColumn(width) {
  return { title: "Test", width, sticky: true, class: "name", sort: (test) => report.names[test], fill: (element, test) => { element.textContent = report.names[test]; element.title = report.names[test]; } };
}

function verdictColumn(model, place) {
  return {
    title: model, tip: `Is the weak outcome allowed by ${model}?${report.about[place] ? ` ${report.about[place]}.` : ""}`, width: Math.max(86, 34 + 7.6 * model.length), class: "verdict",
    sort: (test) => "fubexra-".indexOf(report.verdicts[test][place]),
    fill: (element, test) => {
      const letter = report.verdicts[test][place];
      element.textContent = { a: "allows", f: "forbids", u: "?", b: "?", e: "?", x: "–", r: "", "-": "" }[letter];
      element.classList.add(`letter-${letter === "-" ? "none" : letter}`);
      if (report.breakers(test, place).length) element.append(make("span", { class: "breach" }, "!"));
      element.title = `${model}: ${report.describeVerdict(test, place)}`;
    },
  };
}

function chipColumn(chip, counts) {
  const name = report.chips[chip].name;
  return {
    title: name, width: Math.max(88, 44 + 7.2 * Math.min(20, name.length)), grow: true, class: `observation${report.chips[chip].simulated ? " simulated" : ""}`,
    sort: (test) => rank(report.cell(test, chip)), fill: (element, test) => fillObservation(element, report.cell(test, chip), counts()),
  };
}

class TestsView {
  constructor(open) {
    this.counts = false;
    this.map = new HeatMap(byId("map"), open);
    this.grid = new Grid(byId("tests-grid"), { label: "Tests by chips", columns: this.columns(), open });
    this.grid.sortedNow = () => this.map.setTests(this.grid.rows);
    this.grid.sortBy(0, false);
    byId("which").replaceChildren(...this.choices().map(([value, words]) => make("option", { value }, words)));
    byId("filter").addEventListener("input", () => this.filter());
    byId("which").addEventListener("change", () => this.filter());
    byId("unit").addEventListener("change", (event) => {
      this.counts = event.target.value === "count";
      this.grid.redraw();
    });
    byId("filter").addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") {
        event.preventDefault();
        this.grid.root.focus();
        this.grid.move(0, 0);
      }
    });
    this.filter();
  }

  columns() {
    const narrow = innerWidth < 640;
    const longest = report.names.reduce((most, name) => Math.max(most, name.length), 4);
    const width = narrow ? 150 : Math.max(170, Math.min(330, 30 + 7.4 * longest));
    const models = narrow ? [] : report.models.map(verdictColumn);  // there they are shown when a test is opened
    return [nameColumn(width), ...models, ...report.chips.map((_, chip) => chipColumn(chip, () => this.counts))];
  }

  choices() {
    return [
      ["all", "all tests"], ["seen", "observed somewhere"], ["unseen", "observed nowhere"], ["differ", "telling chips apart"],
      ...report.models.flatMap((model, place) => report.chips.some((chip) => chip.promised[place]) ? [[`breach ${place}`, `breaking ${model}`]] : []),
      ["broken", "without evidence somewhere"],
    ];
  }

  chosen(test) {
    const [which, place] = byId("which").value.split(" ");
    if (which === "seen") return report.observedOn(test).length > 0;
    if (which === "unseen") return report.observedOn(test).length === 0;
    if (which === "differ") return report.differs(test);
    if (which === "breach") return report.breakers(test, Number(place)).length > 0;
    if (which === "broken") return report.chips.some((_, chip) => report.state[report.cell(test, chip)] >= NO_EVIDENCE);
    return true;
  }

  filter() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [];
    for (let test = 0; test < report.testCount; test++) {
      if (words.every((word) => report.lowerNames[test].includes(word)) && this.chosen(test)) rows.push(test);
    }
    this.grid.setRows(rows);
    this.map.setTests(this.grid.rows);
    byId("shown").textContent = rows.length === report.testCount ? counted(rows.length, "test") : `${grouped(rows.length)} of ${counted(report.testCount, "test")}`;
  }
}

class CompareView {
  constructor(open) {
    this.scatter = new Scatter(byId("scatter"), open);
    this.grid = new Grid(byId("pair-grid"), { label: "Tests on two chips", columns: [nameColumn(240)], open });
    for (const id of ["chip-a", "chip-b"]) {
      byId(id).replaceChildren(...report.chips.map((chip, place) => make("option", { value: place }, chip.name)));
      byId(id).addEventListener("change", () => this.compare());
    }
    byId("swap").addEventListener("click", () => {
      [byId("chip-a").value, byId("chip-b").value] = [byId("chip-b").value, byId("chip-a").value];
      this.compare();
    });
    byId("pair-which").addEventListener("change", () => this.list());
  }

  get pair() { return [Number(byId("chip-a").value), Number(byId("chip-b").value)]; }

  start(a, b) {
    if (a === undefined || b === undefined) [a, b] = this.mostDifferent();
    byId("chip-a").value = a;
    byId("chip-b").value = b;
    this.compare(false);
  }

  /** The pair that most tests tell apart; with no difference the first two chips. */
  mostDifferent() {
    let best = [0, Math.min(1, report.chipCount - 1)], most = 0;
    for (let a = 0; a < report.chipCount; a++) {
      for (let b = 0; b < report.chipCount; b++) {
        let count = 0;
        for (let test = 0; test < report.testCount; test++) count += report.state[report.cell(test, a)] === OBSERVED && report.state[report.cell(test, b)] === ZERO;
        if (count > most) [best, most] = [[a, b], count];
      }
    }
    return best;
  }

  compare(record = true) {
    const [a, b] = this.pair;
    this.groups = { a: [], "a?": [], b: [], "b?": [], both: [], neither: [], "": [] };
    for (let test = 0; test < report.testCount; test++) this.groups[difference(report.cell(test, a), report.cell(test, b))].push(test);
    const [one, other] = [report.chips[a].name, report.chips[b].name];
    byId("pair-answer").textContent = this.answer(a, b);
    byId("pair-counts").replaceChildren(...[
      ["a", `only ${one}`], ["a?", `only ${one}, uncertain`], ["b", `only ${other}`], ["b?", `only ${other}, uncertain`], ["both", "both"], ["neither", "neither"],
    ].filter(([key]) => this.groups[key].length || key === "both").map(([key, words]) => make("div", { class: `count kind-${key.replace("?", " unsure")}` }, make("b", {}, grouped(this.groups[key].length)), make("span", {}, words))));
    const choices = [["differ", "tests that tell them apart"], ["certain", "certain differences only"], ["both", "observed on both"], ["all", "all tests run on both"]];
    const kept = byId("pair-which").value || "differ";
    byId("pair-which").replaceChildren(...choices.map(([value, words]) => make("option", { value }, words)));
    byId("pair-which").value = kept;
    this.grid.setColumns([nameColumn(Math.max(150, Math.min(280, innerWidth - 400))), chipColumn(a, () => false), chipColumn(b, () => false), this.kindColumn(one, other)]);
    this.scatter.setPair(Array.from({ length: report.testCount }, (_, test) => test), a, b);
    this.list();
    if (record) address.set({ view: "compare", a: one, b: other });
  }

  answer(a, b) {
    const [one, other] = [report.chips[a].name, report.chips[b].name];
    if (a === b) return "Choose two chips.";
    const group = this.groups, common = report.testCount - group[""].length;
    if (!common) return `No test has evidence on both ${one} and ${other}.`;
    const leftOnly = group.a.length, rightOnly = group.b.length, open = group["a?"].length + group["b?"].length;
    const unsure = open ? ` ${counted(open, "difference")} more may be chance: the zero is not worth enough.` : "";
    if (leftOnly && rightOnly) return `${one} and ${other} differ both ways: each showed outcomes that the other did not.${unsure}`;
    if (leftOnly) return `${one} is weaker than ${other}: it showed all that ${other} showed${group["b?"].length ? ", as far as counts tell" : ""}, and ${counted(leftOnly, "outcome")} more.${unsure}`;
    if (rightOnly) return `${one} is stronger than ${other}: ${other} showed all that ${one} showed${group["a?"].length ? ", as far as counts tell" : ""}, and ${counted(rightOnly, "outcome")} more.${unsure}`;
    return `Nothing certain tells ${one} and ${other} apart in ${counted(common, "test")}.${unsure}`;
  }

  kindColumn(one, other) {
    const words = { a: `only ${one}`, "a?": "uncertain", b: `only ${other}`, "b?": "uncertain", both: "both", neither: "neither" };
    const kind = (test) => difference(...this.pair.map((chip) => report.cell(test, chip)));
    return { title: "Difference", width: 170, class: "kind", sort: (test) => words[kind(test)] ?? "", fill: (element, test) => { element.textContent = words[kind(test)] ?? ""; } };
  }

  list() {
    const keys = { differ: ["a", "b", "a?", "b?"], certain: ["a", "b"], both: ["both"], all: ["a", "b", "a?", "b?", "both", "neither"] }[byId("pair-which").value];
    const rows = keys.flatMap((key) => this.groups[key].slice().sort((one, other) => this.size(one) - this.size(other)));
    this.grid.order = null;
    this.grid.setRows(rows);
    byId("pair-shown").textContent = counted(rows.length, "test");
  }

  /** Small tests first: they are the ones to look at. */
  size(test) { return report.listings[test] ? report.listings[test].length : 1e6 + report.names[test].length; }
}

class IncantationsView {
  constructor(open) {
    const keys = [...report.rows.keys()];
    const testOf = (key) => Math.floor(key / report.chipCount), chipOf = (key) => key % report.chipCount;
    const columns = [
      { title: "Test", width: 150, sticky: true, class: "name", sort: (key) => report.names[testOf(key)], fill: (element, key) => { element.textContent = report.names[testOf(key)]; } },
      { title: "Chip", width: 120, class: "chip", sort: (key) => report.chips[chipOf(key)].name, fill: (element, key) => { element.textContent = report.chips[chipOf(key)].name; } },
      ...Array.from({ length: 16 }, (_, number) => this.column(number)),
    ];
    this.grid = new Grid(byId("incantation-grid"), { label: "Tests by incantations", columns, open: (key) => { this.show(key); open(testOf(key)); } });
    this.grid.setRows(keys);
    if (keys.length) this.show(keys.reduce((best, key) => this.spread(key) > this.spread(best) ? key : best));
    else byId("incantation-title").textContent = "No record says how all four switches of its incantation were set.";
    byId("incantation-grid").hidden = byId("incantation-plot").hidden = !keys.length;
  }

  /** How much the incantation matters: the row to show first is the one where it matters most. */
  spread(key) {
    const rates = report.rows.get(key).map((entry) => entry[4] ? entry[3] / entry[4] : 0);
    return Math.max(...rates) * rates.filter((rate) => rate === 0).length;
  }

  column(number) {
    const entryOf = (key) => report.rows.get(key).find((entry) => entry[2] === number);
    return {
      title: letters(number), tip: switchesTold(number), width: 64, grow: true, class: "observation close",
      sort: (key) => { const entry = entryOf(key); return entry?.[4] ? entry[3] / entry[4] : -1; },
      fill: (element, key) => {
        const entry = entryOf(key);
        if (!entry) return;
        element.textContent = entry[4] ? per100k(entry[3], entry[4]) : "–";
        element.classList.add(...(entry[5] ? ["strong", `h${entry[5]}`] : ["zero"]));
      },
    };
  }

  show(key) {
    const test = Math.floor(key / report.chipCount), chip = key % report.chipCount;
    byId("incantation-title").textContent = `${report.names[test]} on ${report.chips[chip].name}, per 100k`;
    byId("incantation-plot").replaceChildren(incantationBars(report.rows.get(key)));
  }
}

function fillGuide() {
  const confidence = `${Math.round(report.confidence * 100)} %`;
  document.querySelectorAll(".confidence").forEach((element) => { element.textContent = confidence; });
  byId("guide-states").replaceChildren(...[
    ["a number", "observed: so many sightings in 100,000 iterations, or all that were counted"],
    ["0", "not observed: in a run that could have seen it; point at the cell for what the zero rules out"],
    ["dead", "the harness showed no sign of life, so its zero says nothing"],
    ["failed", "the run broke off, or optcheck found that what ran is not the test; never counted as not observed"],
    ["n/a", "the device cannot run the test as it is meant"],
    ["empty", "no record"],
  ].flatMap(([word, meaning]) => [make("dt", {}, word), make("dd", {}, meaning)]));
  byId("guide-models").replaceChildren(...report.models.flatMap((model, place) => [make("dt", {}, model), make("dd", {}, report.about[place] || "a model of yours")]));
  byId("guide-pictures").textContent = report.askedPictures ? `Pictures of executions are part of this page for at most ${counted(report.askedPictures, "test")}: those that tell chips apart first, then those observed.` : "This page was made without pictures of executions.";
  byId("guide-chips").replaceChildren(make("div", { class: "scroll" }, make("table", { class: "rates" },
    make("thead", {}, make("tr", {}, ...["chip", "architecture", "device", "driver", "toolkit"].map((word) => make("th", { scope: "col" }, word)))),
    make("tbody", {}, ...report.chips.map((chip) => make("tr", {}, make("th", { scope: "row" }, chip.name, chip.simulated ? make("span", { class: "badge simulated" }, "simulated") : null), ...["architecture", "device", "driver", "toolkit"].map((key) => make("td", {}, chip[key]))))))));
}
