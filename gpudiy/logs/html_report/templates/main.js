// What joins the parts: tabs, keys, the theme, and the address, which says what is open.

let report;

const address = {
  read() { return Object.fromEntries(new URLSearchParams(location.hash.slice(1))); },
  set(changes) {
    const kept = Object.entries({ ...this.read(), ...changes }).filter(([, value]) => value);
    const text = new URLSearchParams(kept).toString();
    if (text !== location.hash.slice(1)) history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  },
};

async function start() {
  report = await Report.unpack();
  const open = (test) => panel.open(test);
  const views = {};
  const panel = new Panel(byId("panel"), {
    neighbour: (test, by) => {
      const rows = views.current?.grid.rows ?? views.tests.grid.rows;
      const place = rows.indexOf(test);
      return place < 0 ? undefined : rows[place + by];
    },
    closed: () => views.current?.grid.root.focus({ preventScroll: true }),
  });
  views.tests = new TestsView(open);
  const later = { compare: () => new CompareView(open), incantations: () => new IncantationsView(open) };

  function show(name, record = true) {
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const chosen = tab.dataset.view === name;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      byId(`view-${tab.dataset.view}`).hidden = !chosen;
    }
    if (later[name] && !views[name]) {
      views[name] = later[name]();
      views[name].start?.(...chipsOfAddress());
    }
    views.current = views[name] ?? null;
    views.current?.grid.draw();
    if (record) address.set({ view: name === "tests" ? null : name, ...(name === "compare" ? {} : { a: null, b: null }) });
  }

  function chipsOfAddress() {
    const { a, b } = address.read();
    const places = [a, b].map((name) => report.chips.findIndex((chip) => chip.name === name));
    return places.every((place) => place >= 0) ? places : [];
  }

  function follow() {
    const { view, test } = address.read();
    const made = views.compare;
    if (document.querySelector(`[data-view="${CSS.escape(view ?? "tests")}"]`)) show(view ?? "tests", false);
    if (view === "compare" && made && chipsOfAddress().length) made.start(...chipsOfAddress());
    if (test !== undefined && report.numbers.has(test)) {
      if (panel.test !== report.numbers.get(test)) panel.open(report.numbers.get(test));
      views.tests.grid.show(report.numbers.get(test));
    } else {
      panel.close();
    }
  }

  fillGuide();
  fillHead();
  document.querySelector(".tabs").addEventListener("click", (event) => {
    if (event.target.dataset.view) show(event.target.dataset.view);
  });
  document.querySelector(".tabs").addEventListener("keydown", (event) => {
    const tabs = [...document.querySelectorAll("[role=tab]")];
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + by + tabs.length) % tabs.length];
    next.focus();
    show(next.dataset.view);
  });
  byId("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("gpudiy-theme", theme); } catch { /* it lasts as long as the page */ }
    views.tests.map.draw();
    views.compare?.scatter.draw();
  });
  addEventListener("hashchange", follow);
  addEventListener("keydown", (event) => keys(event, panel, show));
  follow();
  document.body.dataset.ready = "yes";
}

function keys(event, panel, show) {
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "Escape") {
    if (panel.isOpen) panel.close();
    else if (event.target.id === "filter") {
      event.target.value = "";
      event.target.dispatchEvent(new Event("input"));
    }
    return;
  }
  if (typing || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "/") {
    event.preventDefault();
    show("tests");
    byId("filter").focus();
    byId("filter").select();
  } else if (panel.isOpen && (event.key === "n" || event.key === "p")) {
    panel.step(event.key === "n" ? 1 : -1);
  }
}

function fillHead() {
  const seen = report.names.reduce((count, _, test) => count + (report.observedOn(test).length > 0), 0);
  const total = report.n.reduce((sum, count) => sum + count, 0);
  const simulated = report.chips.filter((chip) => chip.simulated).length;
  byId("summary").textContent = [
    `${counted(report.testCount, "test")} on ${counted(report.chipCount, "chip")}${simulated ? `, ${simulated === report.chipCount ? "all" : grouped(simulated)} simulated` : ""}`,
    `weak outcomes of ${grouped(seen)} observed`, counted(report.records, "record"), `${grouped(total)} iterations`,
  ].join(" · ");
  const entry = (kind, ...words) => make("span", { class: "entry" }, make("span", { class: `swatch ${kind}` }), ...words);
  byId("legend").replaceChildren(
    entry("zero", "not observed"),
    ...[[2, "1"], [4, "10"], [6, "100"], [8, "1,000"], [10, "10,000"]].map(([step, word]) => entry(`h${step}`, word)),
    entry("h12", "all", make("span", { class: "quiet" }, " per 100k")), entry("hatch", "no evidence"));
  byId("footer").textContent = `Made by gpudiy ${report.version} on ${report.made}.`;
}

start().catch((error) => {
  byId("failure").hidden = false;
  byId("failure").textContent = `This page could not unpack its data: ${error}`;
  console.error(error);
});
