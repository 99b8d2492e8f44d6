// One test, in a panel beside the table.

const SHOWN_SOURCES = 4;

class Panel {
  constructor(element, { neighbour, closed }) {
    this.element = element;
    this.neighbour = neighbour;
    this.closed = closed;
    this.test = null;
    this.urls = [];
  }

  get isOpen() { return this.test !== null; }

  open(test) {
    this.forget();
    this.test = test;
    this.chip = this.firstChip(test);
    this.element.replaceChildren(...this.parts(test));
    this.element.hidden = false;
    this.element.scrollTop = 0;
    document.body.classList.add("panel-open");
    byId("panel-title").focus({ preventScroll: true });
    address.set({ test: report.names[test] });
  }

  close() {
    if (!this.isOpen) return;
    this.forget();
    this.test = null;
    this.element.hidden = true;
    document.body.classList.remove("panel-open");
    address.set({ test: null });
    this.closed();
  }

  forget() {
    this.urls.splice(0).forEach((url) => URL.revokeObjectURL(url));
  }

  step(by) {
    const next = this.neighbour(this.test, by);
    if (next !== undefined) this.open(next);
  }

  firstChip(test) {
    const seen = report.observedOn(test);
    if (seen.length) return seen[0];
    for (let chip = 0; chip < report.chipCount; chip++) if (report.state[report.cell(test, chip)] !== NONE) return chip;
    return 0;
  }

  parts(test) {
    return [
      make("div", { class: "panel-top" },
        make("h2", { id: "panel-title", tabindex: -1 }, report.names[test]),
        make("div", { class: "panel-buttons" },
          this.button("‹", "Previous test (p)", () => this.step(-1)),
          this.button("›", "Next test (n)", () => this.step(1)),
          this.button("×", "Close (Esc)", () => this.close()))),
      make("p", { class: "condition" }, make("span", { class: "quiet" }, "asks for "), make("code", {}, report.conditions[test] || "an outcome that the records do not tell")),
      this.sentence(test),
      ...this.section("Test", this.listing(test)),
      ...this.section("Models", this.models(test)),
      ...this.section("How it comes about", this.picture(test)),
      ...this.section("Rates", this.rates(test)),
      ...this.section("Outcomes", this.outcomes(test)),
      ...this.section("Incantations", this.incantations(test)),
      ...this.section("optcheck", this.excerpts(test)),
    ];
  }

  button(sign, title, work) {
    return make("button", { class: "plain", type: "button", title, "aria-label": title, onclick: work }, sign);
  }

  section(title, content) { return content ? [make("h3", {}, title), content] : []; }

  sentence(test) {
    const seen = report.observedOn(test).length;
    let able = 0;
    for (let chip = 0; chip < report.chipCount; chip++) able += report.state[report.cell(test, chip)] === ZERO;
    const words = seen ? `Observed on ${counted(seen, "chip")}${able ? `, not observed on ${grouped(able)}` : ""}.`
      : able ? `Not observed on ${able === 1 ? "the one chip that ran it" : `any of ${counted(able, "chip")}`}.` : "No run of this test is evidence.";
    const line = make("p", { class: "verdict-line" }, words);
    report.models.forEach((model, place) => {
      const chips = report.breakers(test, place).map((chip) => report.chips[chip].name);
      if (chips.length) line.append(" ", make("span", { class: "breach" }, "!"), ` ${model} forbids what ${chips.join(", ")} showed.`);
    });
    return line;
  }

  /** The program as columns, with what registers and memory hold; the whole text below it. */
  listing(test) {
    const text = report.listings[test];
    if (!text) return make("p", { class: "quiet" }, "The records give the name of this test, not its text.");
    const lines = text.split("\n");
    const head = lines.findIndex((line) => /^P0(\s*:\s*P\d+)*\s*$/.test(line));
    const whole = make("details", {}, make("summary", {}, "As a file"), make("pre", { class: "code" }, text.trim()));
    if (head < 0) return make("div", {}, make("pre", { class: "code" }, text.trim()));
    let end = lines.findIndex((line, place) => place > head && !line.trim());
    if (end < 0) end = lines.length;
    const rows = lines.slice(head, end).map((line) => line.split(" : ").map((part) => part.replace(/^:|:$/g, "").trim()));
    const columns = rows[0].length;
    const table = make("table", { class: "program" },
      make("thead", {}, make("tr", {}, ...rows[0].map((word) => make("th", { scope: "col" }, word)))),
      make("tbody", {}, ...rows.slice(1).map((row) => make("tr", {}, ...Array.from({ length: columns }, (_, place) => make("td", { class: kindOf(row[place] ?? "") }, row[place] ?? ""))))));
    const held = lines.slice(0, head).filter((line) => /^\d+:\.reg .*=|^[A-Za-z_]\w* *=/.test(line)).map((line) => line.replace(/^(\d+):\.reg \.\w+ /, "P$1 ").replace(/;\s*$/, ""));
    const rest = lines.slice(end).map((line) => line.trim()).filter(Boolean);
    return make("div", {}, make("div", { class: "scroll" }, table),
      make("p", { class: "facts" }, ...[held.join(", "), ...rest.slice(0, -1)].filter(Boolean).map((line) => make("span", {}, line))), whole);
  }

  models(test) {
    if (!report.models.length) return null;
    return make("ul", { class: "models" }, ...report.models.map((model, place) => {
      const letter = report.verdicts[test][place];
      return make("li", { class: `verdict-${letter === "-" ? "none" : letter}`, title: report.about[place] || null },
        make("b", {}, model), " ", make("span", { class: "badge" }, report.verdictWords[letter]),
        report.breakers(test, place).length ? make("span", { class: "breach", title: "observed, although this model forbids it" }, "!") : null);
    }));
  }

  picture(test) {
    const svg = report.text(report.pictures[test]), caption = report.text(report.captions[test]);
    if (!svg) {
      if (caption) return make("p", { class: "quiet" }, caption);
      if (!report.listings[test]) return null;
      if (report.verdicts[test].startsWith("r")) return make("p", { class: "quiet" }, "The log does not give this test in full (old logs leave its registers out), so no model can decide it and no execution be drawn.");
      const words = report.askedPictures
        ? `This report was made with ${counted(report.askedPictures, "picture")}, of tests that tell chips apart first; this test got none.`
        : "This report was made without pictures.";
      return make("p", { class: "quiet" }, `${words} `, make("code", {}, "gpudiy model TEST --witness FILE.svg"), " draws one, ", make("code", {}, "gpudiy report --pictures N"), " asks for more.");
    }
    const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));  // drawn only now, and as an image: it runs nothing
    this.urls.push(url);
    return make("figure", { class: "witness" }, make("img", { src: url, alt: caption }), make("figcaption", { class: "quiet" }, caption));
  }

  rates(test) {
    const rows = [];
    for (let chip = 0; chip < report.chipCount; chip++) {
      const cell = report.cell(test, chip), state = report.state[cell];
      if (state === NONE) continue;
      const value = report.shownCell(cell, false);
      rows.push(make("tr", {},
        make("th", { scope: "row" }, report.chips[chip].name),
        make("td", { class: `number${report.heat[cell] ? ` h${report.heat[cell]} strong` : ""}` }, value),
        make("td", {}, intervalBar(cell)),
        make("td", { class: "sighting" }, make("span", { class: `state state-${state}` }, STATE_WORDS[state]), " ", make("span", { class: "quiet" }, state === OBSERVED || state === ZERO ? report.describeCell(cell) : report.text(report.notes[cell])))));
    }
    const sources = new Set();
    for (let chip = 0; chip < report.chipCount; chip++) (report.sources[report.cell(test, chip)] ?? []).forEach((place) => sources.add(report.text(place)));
    const listed = [...sources].slice(0, SHOWN_SOURCES).map((source) => make("li", {}, source));
    if (sources.size > SHOWN_SOURCES) listed.push(make("li", {}, `and ${sources.size - SHOWN_SOURCES} more`));
    const listing = sources.size ? make("ul", { class: "quiet sources", "aria-label": "Sources" }, ...listed) : null;
    return make("div", {}, make("div", { class: "scroll" }, make("table", { class: "rates" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "chip"), make("th", { scope: "col", class: "number" }, "per 100k"), make("th", { scope: "col" }, "0.01 … all"), make("th", { scope: "col" }, `what it is worth (${Math.round(report.confidence * 100)} %)`))),
      make("tbody", {}, ...rows))), listing);
  }

  outcomes(test) {
    const chips = [];
    for (let chip = 0; chip < report.chipCount; chip++) if (report.n[report.cell(test, chip)]) chips.push(chip);
    if (!chips.length) return null;
    if (!chips.includes(this.chip)) this.chip = chips[0];
    const bars = make("div");
    const fill = () => bars.replaceChildren(this.histogram(test, this.chip));
    const choice = make("select", { "aria-label": "Chip whose outcomes are shown", onchange: (event) => { this.chip = Number(event.target.value); fill(); } },
      ...chips.map((chip) => make("option", { value: chip, selected: chip === this.chip }, report.chips[chip].name)));
    fill();
    return make("div", {}, make("label", { class: "choice" }, "on ", choice), bars);
  }

  histogram(test, chip) {
    const cell = report.cell(test, chip);
    const counts = report.counts[cell];
    const rows = counts
      ? report.outcomes[test].map(([outcome, weak], place) => [outcome, weak, counts[place]]).filter((row) => row[2] > 0)
      : [["the weak outcome", 1, report.k[cell]], ["all others", 0, report.n[cell] - report.k[cell]]];
    rows.sort((one, other) => other[1] - one[1] || other[2] - one[2]);
    const most = Math.max(1, ...rows.map((row) => row[2]));
    const table = make("table", { class: "histogram" }, make("tbody", {}, ...rows.map(([outcome, weak, count]) => make("tr", { class: weak ? "weak" : "" },
      make("th", { scope: "row" }, make("code", {}, outcome)),
      make("td", {}, make("span", { class: "fill", style: `width:${count ? Math.max(0.5, 100 * count / most) : 0}%` })),
      make("td", { class: "number" }, grouped(count))))));
    return make("div", {}, make("div", { class: "scroll" }, table), counts ? null : make("p", { class: "quiet" }, "The source says only how often the weak outcome was seen."));
  }

  incantations(test) {
    const found = [];
    for (let chip = 0; chip < report.chipCount; chip++) {
      const entries = report.rows.get(report.cell(test, chip));
      if (!entries) continue;
      const name = report.chips[chip].name;
      if (entries.length === 1) found.push(make("p", {}, `${name} ran it with ${switchesTold(entries[0][2])}.`));
      else found.push(make("h4", {}, name), make("div", { class: "scroll" }, incantationBars(entries)));
    }
    return found.length ? make("div", {}, ...found) : null;
  }

  excerpts(test) {
    const found = new Map();
    for (let chip = 0; chip < report.chipCount; chip++) {
      const text = report.text(report.excerpts[report.cell(test, chip)]);
      if (text) found.set(text, [...(found.get(text) ?? []), report.chips[chip].name]);
    }
    if (!found.size) return null;
    return make("div", {}, ...[...found].map(([text, names]) => make("details", { open: found.size === 1 }, make("summary", {}, names.join(", ")), make("pre", { class: "code" }, text))));
  }
}

/** What an instruction does, for its colour. */
function kindOf(instruction) {
  const word = instruction.replace(/^@!?\w+\s+/, "");
  if (/^(membar|fence|bar)\b/.test(word)) return "fence";
  if (/^(atom|red)\b/.test(word)) return "atomic";
  if (/^ld\b/.test(word)) return "load";
  return /^st\b/.test(word) ? "store" : "";
}
