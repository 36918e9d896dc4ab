// The page: reads its data, keeps the state, and tells every view what to show.
import { Boxes } from "./boxes.mjs";
import { renderChips, renderCompare, renderGroups, renderLegend } from "./controls.mjs";
import { readColumns, unpack } from "./decode.mjs";
import { openHelp, openSave } from "./dialogs.mjs";
import { byId, element, fill } from "./dom.mjs";
import { showFacts } from "./facts_view.mjs";
import { NO_FILTER, withValue, withoutKey } from "./filter.mjs";
import { FlameView, boxLabel } from "./flame.mjs";
import { functionTable } from "./function_table.mjs";
import { FunctionView } from "./function_view.mjs";
import { LabelsView } from "./labels_view.mjs";
import { Profile } from "./model.mjs";
import { SIDE_COLORS } from "./palette.mjs";
import { CLASSES, Questions } from "./questions.mjs";
import { DEFAULT_STATE, readState, writeState } from "./state.mjs";
import { TableView } from "./table_view.mjs";
import { heaviestCodes } from "./tables.mjs";
import { bounded, counted, percent, setWeights, weightText } from "./text.mjs";
import { TimeView } from "./time_view.mjs";
import { boxName, valueText } from "./tree.mjs";

class App {
  constructor(profile) {
    this.profile = profile;
    this.questions = new Questions(profile);
    this.boxes = new Boxes(profile, this.questions);
    const telling = this.questions.tellingKey();
    const groups = (profile.facts.group_by ?? []).filter((name) => profile.keys.has(name));
    this.initial = { ...DEFAULT_STATE, groups, color: telling, pivot: telling, ...this.sides() };
    this.slot = ""; // which filter a click changes: "", "a" or "b"
    this.theme = remembered("theme");
    this.safe = remembered("palette") === "safe";
    this.buildViews();
    this.buildControls();
    this.read();
    addEventListener("popstate", () => this.read());
    addEventListener("keydown", (event) => this.key(event));
    document.querySelector("main").addEventListener("pointerdown", () => this.toggleRail(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.render());
  }

  // A page of labelscope diff begins with A and B, which labels choose from alike.
  sides() {
    const key = this.profile.facts.compare_by;
    if (!key || !this.profile.keys.has(key)) return {};
    const side = (value) => ({ ...NO_FILTER, terms: [{ key, only: [value], not: [] }] });
    return { compare: true, a: side("A"), b: side("B") };
  }

  buildViews() {
    const flame = {
      color: (box) => this.boxes.boxColor(box),
      text: (box) => this.boxes.boxText(box),
      describe: (box) => this.boxes.describe(box),
      onhover: (box, event) => this.showTip(box, event),
      onselect: (box) => this.showStatus(box),
    };
    this.flame = new FlameView(byId("flame-panel"), {
      ...flame,
      id: "flame",
      label: "flame graph",
      onzoom: (zoom) => this.set({ zoom }),
      onpick: (box) => this.openFunction(box.function),
    });
    this.table = new TableView(byId("table-panel"), {
      label: "functions",
      onopen: (fn) => this.openFunction(fn),
      onsort: (sort) =>
        this.set({
          sort,
          ascending: sort === this.state.sort ? !this.state.ascending : sort === "name",
        }),
    });
    this.functionView = new FunctionView(byId("function-panel"), {
      flame,
      onpick: (fn) => this.openFunction(fn),
    });
    this.labels = new LabelsView(byId("rail"), {
      onvalue: (key, token, how) =>
        this.changeFilter((filter) => withValue(filter, key, token, how)),
      onclear: (key) => this.changeFilter((filter) => withoutKey(filter, key)),
      ongroup: (key) => this.toggleGroup(key),
      oncolor: (key) => this.set({ color: this.state.color === key ? "" : key }),
    });
    this.time = new TimeView(byId("time"), {
      onrange: (time) => this.set({ filter: { ...this.state.filter, time } }),
    });
    this.time.resized = () => this.renderTime();
    byId("time").hidden = this.profile.rows.timed === 0;
  }

  buildControls() {
    for (const tab of document.querySelectorAll("[data-view]"))
      tab.addEventListener("click", () => this.set({ view: tab.dataset.view }));
    const press = (id, action) => byId(id).addEventListener("click", action);
    press("compare-button", () => this.toggleCompare());
    press("labels-button", () => this.toggleRail());
    press("theme-button", () => this.toggleTheme());
    press("palette-button", () => this.togglePalette());
    press("help-button", () => openHelp());
    press("save-button", () => this.openSave());
    press("search-keep", () =>
      this.set({ filter: { ...this.state.filter, stack: this.state.search }, search: "" }),
    );
    const search = byId("search");
    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.set({ search: search.value }, true), 120);
    });
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      this.set({ search: search.value }, true);
      this.flame.nextMatch(event.shiftKey ? -1 : 1);
    });
  }

  // The state of the address. What it asks for and this profile does not have is left out.
  read() {
    const { state, problem } = readState(location.hash, this.initial);
    const known = (name) => this.profile.keys.has(name);
    const missing = [
      ...state.groups,
      state.color,
      state.pivot,
      ...[state.filter, state.a, state.b].flatMap((f) => f.terms.map((t) => t.key)),
    ].filter((name) => name !== "" && !known(name));
    state.groups = state.groups.filter(known);
    if (!known(state.color)) state.color = "";
    if (!known(state.pivot)) state.pivot = "";
    if (state.function >= this.profile.functions.count) state.function = -1;
    this.state = state;
    const missed =
      missing.length > 0
        ? `This profile has no label ${bounded([...new Set(missing)].join(", "), 200)}.`
        : "";
    this.notice([problem, missed].filter(Boolean).join(" "));
    this.render();
  }

  // A new state; `quiet`: not a step to go back to.
  set(change, quiet = false) {
    const before = writeState(this.state, this.initial);
    this.state = { ...this.state, ...change };
    // Another tree has other boxes.
    if (!("zoom" in change) && ["groups", "leaves", "inverted"].some((name) => name in change))
      this.state.zoom = [];
    const after = writeState(this.state, this.initial);
    if (after !== before) {
      const address = after === "" ? location.pathname + location.search : after;
      if (quiet || "zoom" in change) history.replaceState(null, "", address);
      else history.pushState(null, "", address);
    }
    this.render();
  }

  changeFilter(change) {
    const slot = this.state.compare ? this.slot : "";
    if (slot === "") this.set({ filter: change(this.state.filter) });
    else this.set({ [slot]: change(this.state[slot]) });
  }

  toggleGroup(name) {
    const { groups } = this.state;
    this.set({
      groups: groups.includes(name) ? groups.filter((one) => one !== name) : [...groups, name],
    });
  }

  toggleCompare() {
    if (this.state.compare) {
      this.slot = "";
      this.set({ compare: false });
      return;
    }
    const empty = this.state.a.terms.length + this.state.b.terms.length === 0;
    const proposal = empty ? this.questions.comparison(this.state) : {};
    if (proposal === null) this.notice("There is no label with two values to compare.");
    this.slot = "b";
    this.set({ compare: true, ...proposal });
  }

  openFunction(fn) {
    this.set({ view: "function", function: fn });
  }

  notice(text) {
    const area = byId("notice");
    area.hidden = text === "";
    fill(
      area,
      text,
      element("button", { "aria-label": "close", onclick: () => this.notice("") }, "×"),
    );
  }

  get dark() {
    return this.theme ? this.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  toggleTheme() {
    this.theme = this.dark ? "light" : "dark";
    remember("theme", this.theme);
    this.render();
  }

  togglePalette() {
    this.safe = !this.safe;
    remember("palette", this.safe ? "safe" : "");
    this.render();
  }

  toggleRail(open = !document.body.classList.contains("rail-open")) {
    document.body.classList.toggle("rail-open", open);
    byId("labels-button").setAttribute("aria-expanded", String(open));
    if (open) byId("rail").querySelector("button")?.focus();
  }

  // -- rendering

  render() {
    const { state } = this;
    this.boxes.look(this);
    if (this.theme) document.documentElement.dataset.theme = this.theme;
    document.documentElement.dataset.palette = this.safe ? "safe" : "";
    byId("palette-button").setAttribute("aria-pressed", String(this.safe));
    for (const tab of document.querySelectorAll("[data-view]")) {
      tab.setAttribute("aria-pressed", String(tab.dataset.view === state.view));
      byId(`${tab.dataset.view}-panel`).hidden = tab.dataset.view !== state.view;
    }
    byId("compare-button").setAttribute("aria-pressed", String(state.compare));
    this.whole = this.questions.slices(state).reduce((sum, slice) => sum + slice.weight, 0);
    this.renderLabels();
    renderChips(this);
    renderCompare(this);
    renderGroups(this);
    renderLegend(this);
    this.renderSearch();
    this.renderTime();
    this.showTip(null);
    ({
      flame: () => this.renderFlame(),
      table: () => this.renderTable(),
      function: () => this.renderFunction(),
    })[state.view]();
    this.showStatus(null);
  }

  renderLabels() {
    const { state } = this;
    const slot = state.compare ? this.slot : "";
    this.labels.show(
      this.questions.labels(state, slot).map((entry) => {
        return {
          ...entry,
          values: this.questions.inOrder(state, entry.key, entry.sums),
          grouped: state.groups.includes(entry.key.name),
          colored: !state.compare && state.color === entry.key.name,
          palette: this.safe,
          sides: state.compare ? JSON.stringify([state.a, state.b]) : "",
          color: (code) => this.boxes.valueColor(entry.key, code),
        };
      }),
    );
  }

  renderSearch() {
    const { state } = this;
    const input = byId("search");
    if (document.activeElement !== input) input.value = state.search;
    const found = this.questions.search(state);
    input.classList.toggle("wrong", found?.problem === true);
    byId("search-keep").hidden = !found || found.problem || found.functions === 0;
    byId("search-result").textContent = resultText(found);
  }

  renderTime() {
    if (!this.state || this.profile.rows.timed === 0) return;
    const key = this.profile.keys.get(this.state.color);
    const bars = this.questions.histogram(this.state, this.time.bins(this.profile.rows.timed));
    const colors = this.state.compare
      ? SIDE_COLORS
      : key
        ? Array.from({ length: CLASSES }, (_, part) => this.boxes.classColor(part))
        : [getComputedStyle(document.documentElement).getPropertyValue("--accent")];
    this.time.show({
      bars,
      colors,
      range: this.state.filter.time,
      last: this.profile.rows.lastTime,
      tick: this.profile.tick,
    });
  }

  renderFlame() {
    const { state } = this;
    const panel = byId("flame-panel");
    const empty = this.whole === 0;
    panel.classList.toggle("is-empty", empty);
    const matches = this.questions.search(state)?.matches ?? null;
    this.flame.show(this.questions.tree(state), {
      zoom: state.zoom,
      icicle: state.icicle,
      matches,
    });
  }

  renderTable() {
    const { columns, order, sort } = functionTable(this.questions, this.state);
    this.table.show(columns, order, { sort, ascending: this.state.ascending });
  }

  renderFunction() {
    const { state } = this;
    const totals = this.questions.totals(state);
    const sum =
      totals.length === 1
        ? totals[0]
        : {
            self: totals[0].self.map((value, i) => value + totals[1].self[i]),
            total: totals[0].total.map((value, i) => value + totals[1].total[i]),
          };
    const ranked = this.questions.keep("ranked", this.questions.filters(state), () =>
      heaviestCodes(sum.total),
    );
    const chosen = state.function >= 0;
    this.functionView.show({
      profile: this.profile,
      ranked,
      totals: sum,
      whole: this.whole,
      fn: state.function,
      trees: chosen ? this.questions.functionTrees(state) : null,
      breakdown: chosen ? this.breakdown() : [],
    });
  }

  // Bars of the labels under one function.
  breakdown() {
    const entries = this.questions
      .breakdown(this.state, this.state.function)
      .filter((entry) => entry.key.values.length > 0);
    return entries.slice(0, 12).map(({ key, sums, whole }) => {
      return element(
        "section",
        { class: "key" },
        element("h3", {}, bounded(key.name, 60)),
        element(
          "ul",
          { class: "values" },
          ...heaviestCodes(sums, 4).map((code) => {
            const bar = element("span", { class: "bar" });
            bar.style.width = `${(100 * sums[code]) / whole}%`;
            bar.style.background = this.boxes.valueColor(key, code) ?? "";
            return element(
              "li",
              {},
              element(
                "span",
                { class: "value", title: weightText(sums[code]) },
                bar,
                element("bdi", { class: "text" }, bounded(valueText(key, code), 80)),
                element("span", { class: "share" }, percent(sums[code], whole)),
              ),
            );
          }),
        ),
      );
    });
  }

  // -- boxes of flame graphs

  // What a click does here.
  hint() {
    const { view, function: fn } = this.state;
    if (view === "table") return "Click a row for its function, a head to sort by it. Keys: ?";
    return view === "function" && fn < 0
      ? "Keys: ?"
      : "Click a box to zoom, double-click for its function. Keys: ?";
  }

  showStatus(box) {
    const area = byId("status");
    if (!box || box.kind === "rest") {
      fill(area, this.whole === 0 ? "No sample passes these filters." : this.hint());
      return;
    }
    fill(
      area,
      element("bdi", {}, bounded(this.boxes.describe(box), 400)),
      box.kind === "function"
        ? element(
            "button",
            { class: "link", onclick: () => this.openFunction(box.function) },
            "callers and callees",
          )
        : null,
      box.groupKey
        ? element(
            "button",
            {
              class: "link",
              onclick: () =>
                this.changeFilter((f) =>
                  withValue(
                    withoutKey(f, box.groupKey.name),
                    box.groupKey.name,
                    box.groupKey.token(box.code),
                    "only",
                  ),
                ),
            },
            "only this value",
          )
        : null,
    );
  }

  showTip(box, event) {
    const tip = byId("tip");
    tip.hidden = !box || !event || event.pointerType === "touch";
    if (tip.hidden) return;
    const lines = [
      element(
        "strong",
        {},
        element(
          "bdi",
          {},
          bounded(box.kind === "rest" ? this.boxes.describe(box) : boxName(this.profile, box), 400),
        ),
      ),
    ];
    if (box.kind !== "rest") {
      lines.push(
        element("div", {}, this.boxes.describe(box).slice(boxLabel(this.profile, box).length + 2)),
      );
      if (box.kind === "function") {
        const { functions } = this.profile;
        const place = [functions.module(box.function), functions.file(box.function)]
          .filter(Boolean)
          .join(" · ");
        if (place)
          lines.push(element("div", { class: "note" }, element("bdi", {}, bounded(place, 300))));
      }
      lines.push(
        ...this.boxes
          .tipValues(box)
          .map(([name, share]) =>
            element(
              "div",
              { class: "tip-value" },
              element("bdi", {}, bounded(name, 80)),
              element("span", {}, share),
            ),
          ),
      );
    }
    fill(tip, ...lines);
    const area = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - area.width - 8))}px`;
    const below = event.clientY + 18;
    const above = Math.max(4, event.clientY - area.height - 10);
    tip.style.top = `${below + area.height > innerHeight ? above : below}px`;
  }

  // -- dialogs and keys

  openSave() {
    openSave(
      this.profile,
      this.questions.slice(this.state),
      this.questions.groups(this.state),
      (text) => this.notice(text),
    );
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
      return;
    const typing =
      event.target instanceof Element && event.target.matches("input, select, textarea");
    if (event.key === "Escape") {
      if (document.body.classList.contains("rail-open")) this.toggleRail(false);
      else if (typing) event.target.blur();
      else if (this.state.zoom.length > 0) this.set({ zoom: [] });
      else if (this.state.search !== "") this.set({ search: "" }, true);
      return;
    }
    if (typing) return;
    const view = { 1: "flame", 2: "table", 3: "function" }[event.key];
    const actions = {
      "?": () => openHelp(),
      "/": () => byId("search").focus(),
      n: () => this.flame.nextMatch(1),
      N: () => this.flame.nextMatch(-1),
      d: () => this.toggleTheme(),
      i: () => this.set({ icicle: !this.state.icicle }),
      u: () => this.set({ inverted: !this.state.inverted }),
      c: () => this.toggleCompare(),
      s: () => this.openSave(),
      g: () => byId("group-add").focus(),
      t: () => byId("time").firstChild.focus(),
      l: () => this.focusLabels(),
      x: () => this.set({ filter: NO_FILTER }),
      0: () => this.set({ zoom: [] }),
      "-": () => this.set({ zoom: this.state.zoom.slice(0, -1) }),
      ArrowDown: () => this.focusView(),
      ArrowUp: () => this.focusView(),
      ArrowLeft: () => this.focusView(),
      ArrowRight: () => this.focusView(),
    };
    if (
      event.target instanceof Element &&
      event.target.closest("button") &&
      event.key.startsWith("Arrow")
    )
      return;
    if (view) this.set({ view });
    else if (Object.hasOwn(actions, event.key)) actions[event.key]();
    else return;
    event.preventDefault();
  }

  focusLabels() {
    if (getComputedStyle(byId("labels-button")).display !== "none") this.toggleRail(true);
    else byId("rail").querySelector("button")?.focus();
  }

  focusView() {
    byId(`${this.state.view}-panel`).querySelector('[tabindex="0"]')?.focus();
  }
}

function resultText(found) {
  if (found === null) return "";
  if (found.problem) return "not a regular expression";
  const functions = counted(found.functions, "function", "functions");
  return `${percent(found.share, found.whole)} in ${functions}`;
}

// What somebody has chosen before; not every browser keeps it for files.
function remembered(name) {
  try {
    return localStorage.getItem(`labelscope ${name}`);
  } catch {
    return null;
  }
}
function remember(name, value) {
  try {
    localStorage.setItem(`labelscope ${name}`, value);
  } catch {
    // It holds until the page is closed.
  }
}

export async function start() {
  const facts = JSON.parse(byId("facts").textContent);
  setWeights(facts.unit ?? "nanoseconds", facts.mode);
  showFacts(byId("command"), byId("facts-line"), byId("facts-details"), facts);
  const area = byId("profile");
  const profile = new Profile(readColumns(await unpack(area.textContent)), facts);
  area.remove();
  const app = new App(profile);
  document.body.classList.add("ready");
  performance.mark("ready");
  return app;
}

if (typeof document !== "undefined") {
  start().catch((error) => {
    const notice = byId("notice");
    notice.hidden = false;
    notice.textContent = error.message;
    document.body.classList.add("failed");
  });
}
