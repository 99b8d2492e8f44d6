// A table that keeps only the rows in sight, with headings that sort and arrow keys that move.

const ROW_HEIGHT = 32, OVERSCAN = 8;

class Grid {
  /** columns: { title, width, sort(row), fill(element, row), sticky, tip }; a row is anything. */
  constructor(root, { label, columns, open }) {
    this.root = root;
    this.open = open;
    this.rows = [];
    this.drawn = new Map();
    this.active = { row: 0, column: 0 };
    this.order = null;
    this.head = make("div", { class: "grid-head", role: "row", "aria-rowindex": 1 });
    this.body = make("div", { class: "grid-body", role: "rowgroup" });
    this.empty = make("p", { class: "grid-empty quiet", hidden: true }, "No test is left: the filter or the choice above is too narrow.");
    root.replaceChildren(this.head, this.body, this.empty);
    for (const [name, value] of Object.entries({ role: "grid", tabindex: 0, "aria-label": label })) root.setAttribute(name, value);
    root.addEventListener("scroll", () => this.draw(), { passive: true });
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("focus", () => this.mark());
    root.addEventListener("blur", () => this.mark());
    this.body.addEventListener("click", (event) => this.click(event));
    this.setColumns(columns);
    new ResizeObserver(() => this.draw()).observe(root);
  }

  setColumns(columns) {
    this.columns = columns;
    this.width = columns.reduce((sum, column) => sum + column.width, 0);
    this.lefts = [];
    columns.reduce((left, column, index) => (this.lefts[index] = left, left + column.width), 0);
    this.root.style.setProperty("--columns", columns.map((column) => column.grow ? `minmax(${column.width}px, 1fr)` : `${column.width}px`).join(" "));
    this.root.setAttribute("aria-colcount", columns.length);
    this.head.replaceChildren(...columns.map((column, index) => this.heading(column, index)));
    this.head.style.minWidth = this.body.style.minWidth = `max(100%, ${this.width}px)`;
    this.redraw();
  }

  heading(column, index) {
    const button = make("button", { type: "button", tabindex: -1, title: column.tip ?? column.title }, column.title);
    button.addEventListener("click", () => this.sortBy(index));
    return make("div", { class: `grid-heading ${column.class ?? ""}${column.sticky ? " sticky" : ""}`, role: "columnheader", "aria-colindex": index + 1, id: `${this.root.id}-h${index}` }, button);
  }

  setRows(rows) {
    this.unsorted = rows;
    this.rows = this.sorted(rows);
    this.root.setAttribute("aria-rowcount", rows.length + 1);
    this.body.style.height = `${rows.length * ROW_HEIGHT}px`;
    this.empty.hidden = rows.length > 0;
    this.active.row = Math.max(-1, Math.min(this.active.row, rows.length - 1));
    this.redraw();
  }

  sortBy(index, down = null) {
    const same = this.order?.index === index;
    this.order = { index, down: down ?? (same ? !this.order.down : index > 0) };
    [...this.head.children].forEach((heading, place) => {
      if (place === index) heading.setAttribute("aria-sort", this.order.down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    this.rows = this.sorted(this.unsorted ?? []);
    this.redraw();
    this.sortedNow?.();
  }

  sorted(rows) {
    if (!this.order) return rows.slice();
    const { index, down } = this.order;
    const keyed = rows.map((row, place) => [this.columns[index].sort(row), place, row]);
    const sign = down ? -1 : 1;
    const compare = typeof keyed[0]?.[0] === "string" ? report.collator.compare : (one, other) => one - other;
    return keyed.sort((one, other) => sign * compare(one[0], other[0]) || one[1] - other[1]).map((entry) => entry[2]);
  }

  redraw() {
    this.drawn.forEach((element) => element.remove());
    this.drawn.clear();
    this.draw();
  }

  draw() {
    const height = this.root.clientHeight;
    if (!height) return;
    const first = Math.max(0, Math.floor(this.root.scrollTop / ROW_HEIGHT) - OVERSCAN);
    const last = Math.min(this.rows.length - 1, Math.ceil((this.root.scrollTop + height) / ROW_HEIGHT) + OVERSCAN);
    for (const [index, element] of this.drawn) {
      if (index < first || index > last) {
        element.remove();
        this.drawn.delete(index);
      }
    }
    const added = document.createDocumentFragment();
    for (let index = first; index <= last; index++) {
      if (!this.drawn.has(index)) added.append(this.drawRow(index));
    }
    this.body.append(added);
    this.mark();
  }

  drawRow(index) {
    const row = make("div", { class: `grid-row${index % 2 ? " odd" : ""}`, role: "row", "aria-rowindex": index + 2, "data-row": index, style: `top:${index * ROW_HEIGHT}px` });
    this.columns.forEach((column, place) => {
      const cell = make("div", { class: `grid-cell ${column.class ?? ""}${column.sticky ? " sticky" : ""}`, role: place ? "gridcell" : "rowheader", "aria-colindex": place + 1, id: `${this.root.id}-r${index}c${place}`, "data-column": place });
      column.fill(cell, this.rows[index]);
      row.append(cell);
    });
    this.drawn.set(index, row);
    return row;
  }

  /** Show where the keys are, and tell it to who cannot see. */
  mark() {
    this.root.querySelectorAll(".active").forEach((element) => element.classList.remove("active"));
    const { row, column } = this.active;
    const id = row < 0 ? `${this.root.id}-h${column}` : `${this.root.id}-r${row}c${column}`;
    const element = byId(id);
    if (element) {
      element.classList.add("active");
      this.root.setAttribute("aria-activedescendant", id);
    }
  }

  click(event) {
    const row = event.target.closest(".grid-row");
    if (!row) return;
    const cell = event.target.closest(".grid-cell");
    this.active = { row: Number(row.dataset.row), column: Number(cell?.dataset.column ?? 0) };
    this.mark();
    this.open(this.rows[this.active.row]);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.root.clientHeight / ROW_HEIGHT) - 2);
    const last = { row: this.rows.length - 1, column: this.columns.length - 1 };
    const { row, column } = this.active;
    const moves = {
      ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1],
      PageDown: [Math.max(0, row) + page, column], PageUp: [Math.max(0, row - page), column], Home: [0, column], End: [last.row, column],
    };
    if (moves[event.key]) {
      const [nextRow, nextColumn] = moves[event.key];
      this.move(Math.max(-1, Math.min(last.row, nextRow)), Math.max(0, Math.min(last.column, nextColumn)));
    } else if (event.key === "Enter" || event.key === " ") {
      if (row < 0) this.sortBy(column);
      else if (this.rows[row] !== undefined) this.open(this.rows[row]);
    } else {
      return;
    }
    event.preventDefault();
  }

  move(row, column) {
    this.active = { row, column };
    if (row >= 0) {
      const top = row * ROW_HEIGHT, headHeight = this.head.offsetHeight;
      const { scrollTop, clientHeight } = this.root;
      if (top < scrollTop) this.root.scrollTop = top;
      else if (top + ROW_HEIGHT + headHeight > scrollTop + clientHeight) this.root.scrollTop = top + ROW_HEIGHT + headHeight - clientHeight;
    }
    if (!this.columns[column].sticky) {
      const fixed = this.columns[0].sticky ? this.columns[0].width : 0;
      const left = this.lefts[column], right = left + this.columns[column].width;
      if (left - fixed < this.root.scrollLeft) this.root.scrollLeft = left - fixed;
      else if (right > this.root.scrollLeft + this.root.clientWidth) this.root.scrollLeft = right - this.root.clientWidth;
    }
    this.draw();
  }

  /** Bring a row into sight and make it the active one. */
  show(value) {
    const row = this.rows.indexOf(value);
    if (row >= 0) this.move(row, this.active.column);
  }
}
