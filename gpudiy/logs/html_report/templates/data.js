// The data of the page: unpacked once, then asked by test and chip.

const NONE = 0, OBSERVED = 1, ZERO = 2, NO_EVIDENCE = 3, FAILED = 4, NOT_RUNNABLE = 5;
const STATE_WORDS = ["no record", "observed", "not observed", "no evidence", "failed", "not runnable"];
const STATE_CELLS = ["", "", "0", "no evidence", "failed", "n/a"];
const SWITCHES = ["memory stress", "bank conflicts", "synchronisation", "randomisation"];

const byId = (id) => document.getElementById(id);

/** An element with attributes, properties that start with a dot, and children: elements or texts, never markup. */
function make(tag, attributes = {}, ...children) {
  const [space, name] = tag.startsWith("svg:") ? ["http://www.w3.org/2000/svg", tag.slice(4)] : ["http://www.w3.org/1999/xhtml", tag];
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

class Report {
  static async unpack() {
    const bytes = Uint8Array.from(atob(byId("data").textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Report(JSON.parse(await new Response(stream).text()));
  }

  constructor(data) {
    Object.assign(this, data);
    this.chipCount = this.chips.length;
    this.testCount = this.names.length;
    this.state = Uint8Array.from(this.states, Number);
    this.heat = Uint8Array.from(this.steps, (digit) => parseInt(digit, 16));
    this.k = Float64Array.from(this.sightings);
    this.n = Float64Array.from(this.iterations);
    this.known = new Map();  // intervals, as they are asked for
    this.lowerNames = this.names.map((name) => name.toLowerCase());
    this.numbers = new Map(this.names.map((name, test) => [name, test]));
    this.rows = new Map();  // incantations, by test and chip
    for (const entry of this.incantations) {
      const key = entry[0] * this.chipCount + entry[1];
      if (!this.rows.has(key)) this.rows.set(key, []);
      this.rows.get(key).push(entry);
    }
    this.collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  }

  cell(test, chip) { return test * this.chipCount + chip; }
  rate(cell) { return this.n[cell] ? this.k[cell] / this.n[cell] : 0; }
  text(place) { return place === undefined || place < 0 ? "" : this.texts[place]; }

  /** The interval of what was observed; of a zero, what it leaves open. */
  ends(cell) {
    if (this.state[cell] !== OBSERVED) return { low: 0, high: this.bound(this.n[cell]) };
    if (!this.known.has(cell)) this.known.set(cell, intervalOf(this.k[cell], this.n[cell], this.confidence));
    return this.known.get(cell);
  }

  /** Whether the zero of one cell is worth enough to say that it differs from what the other cell saw. */
  surelyMore(seen, zero) {
    const tail = (1 - this.confidence) / 2, k = this.k[seen], n = this.n[seen];
    return cumulativeBeta(this.bound(this.n[zero]), k, n - k + 1) < tail;  // that is: the low end lies above the bound
  }

  /** The rate that a zero in so many iterations rules out. */
  bound(iterations) { return -Math.expm1(Math.log(1 - this.confidence) / iterations); }

  observedOn(test) {
    const chips = [];
    for (let chip = 0; chip < this.chipCount; chip++) if (this.state[this.cell(test, chip)] === OBSERVED) chips.push(chip);
    return chips;
  }

  /** Whether chips differ: one showed the outcome and another, that could have, did not. */
  differs(test) {
    let seen = false, unseen = false;
    for (let chip = 0; chip < this.chipCount; chip++) {
      const state = this.state[this.cell(test, chip)];
      seen ||= state === OBSERVED;
      unseen ||= state === ZERO;
    }
    return seen && unseen;
  }

  /** Whether a chip showed what a model forbids that it is meant to keep to. */
  breaks(test, chip, model) {
    return this.verdicts[test][model] === "f" && this.chips[chip].promised[model] && this.state[this.cell(test, chip)] === OBSERVED;
  }

  /** Chips that break a model by a test. */
  breakers(test, model) {
    return this.chips.flatMap((_, chip) => this.breaks(test, chip, model) ? [chip] : []);
  }

  describeVerdict(test, model) {
    return this.verdictWords[this.verdicts[test][model]];
  }

  shownCell(cell, counts) {
    const state = this.state[cell];
    if (state !== OBSERVED) return STATE_CELLS[state];
    return counts ? grouped(this.k[cell]) : per100k(this.k[cell], this.n[cell]);
  }

  /** What the launches of a cell say, beside what independent iterations would. */
  besides(cell) {
    const launches = this.text(this.launches[cell]);
    return launches ? `; ${launches}` : "";
  }

  /** What a cell says, in a sentence. */
  describeCell(cell) {
    const state = this.state[cell];
    if (state === OBSERVED) {
      return `${grouped(this.k[cell])} of ${grouped(this.n[cell])}, ${interval(this.ends(cell))} per 100k${this.besides(cell)}`;
    }
    if (state === ZERO) return `0 of ${grouped(this.n[cell])}, so below ${digits(this.bound(this.n[cell]) * 1e5)} per 100k${this.besides(cell)}`;
    const note = this.text(this.notes[cell]);
    return STATE_WORDS[state] + (note ? `: ${note}` : "");
  }
}

function grouped(number) { return number.toLocaleString("en"); }

/** Sightings in 100,000: whole from 10 on, else two digits that count; never 0 for what was seen. */
function per100k(sightings, iterations) {
  const rate = sightings * 1e5 / iterations;
  if (Number.isInteger(rate)) return grouped(rate);
  return rate >= 10 ? grouped(Math.round(rate)) : digits(rate, 2);
}

function digits(number, count = 3) {
  if (number === 0) return "0";
  if (number >= 1000) return grouped(Math.round(number));
  const text = number.toPrecision(count);
  return text.includes("e") ? Number(text).toFixed(Math.min(20, count - 1 - Math.floor(Math.log10(number)))) : text;
}

function interval({ low, high }) { return `${digits(low * 1e5)} to ${digits(high * 1e5)}`; }

function counted(number, what) { return `${grouped(number)} ${what}${number === 1 ? "" : "s"}`; }

/** The letters of a setting of the four switches. */
function letters(number) {
  return ["m", "b", "s", "r"].filter((_, bit) => number >> (3 - bit) & 1).join("") || "–";
}

function switchesTold(number) {
  return SWITCHES.filter((_, bit) => number >> (3 - bit) & 1).join(", ") || "no switch on";
}
