// The page: reads its data, keeps the state, and gives every view what it shows.
import { breakdown, openBoxMenu, showStatus, showTip } from "./box_info.mjs";
import { Boxes } from "./boxes.mjs";
import {
  filterParts,
  renderChips,
  renderCompare,
  renderCrumbs,
  renderGroups,
  renderLegend,
} from "./controls.mjs";
import { readColumns, unpack } from "./decode.mjs";
import { openHelp, openSave } from "./dialogs.mjs";
import { byId, element, fill } from "./dom.mjs";
import { showFacts } from "./facts_view.mjs";
import { NO_FILTER, isEmpty, matchingFunctions, withValue, withoutKey } from "./filter.mjs";
import { FlameView } from "./flame.mjs";
import { functionTable } from "./function_table.mjs";
import { FunctionView } from "./function_view.mjs";
import { LabelsView } from "./labels_view.mjs";
import { Profile } from "./model.mjs";
import { SIDE_COLORS } from "./palette.mjs";
import { CLASSES, Questions } from "./questions.mjs";
import { DEFAULT_STATE, readState, writeState } from "./state.mjs";
import { TableView } from "./table_view.mjs";
import { heaviestCodes } from "./tables.mjs";
import { bounded, counted, percent, setWeights } from "./text.mjs";
import { TimeView } from "./time_view.mjs";

class App {
  constructor(profile) {
    this.profile = profile;
    this.questions = new Questions(profile);
    this.boxes = new Boxes(profile, this.questions);
    const best = this.questions.bestKey();
    const groups = (profile.facts.group_by ?? []).filter((name) => profile.keys.has(name));
    this.initial = { ...DEFAULT_STATE, groups, color: best, pivot: best, ...this.sides() };
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
      color: (box, narrow) => this.boxes.boxColor(box, narrow),
      text: (box) => this.boxes.boxText(box),
      describe: (box) => this.boxes.describe(box),
      onhover: (box, event) => showTip(this, box, event),
      onselect: (box, zoom) => showStatus(this, box, zoom),
      onmenu: (box, x, y, zoom) => openBoxMenu(this, box, x, y, zoom),
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
      onrange: (time) => this.changeFilter((filter) => ({ ...filter, time })),
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
    press("skip-button", () => this.focusView());
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
    const stopped = ["filter", "a", "b"].map((slot) => this.dropExpressions(state, slot));
    const missed =
      missing.length > 0
        ? `This profile has no label ${bounded([...new Set(missing)].join(", "), 200)}.`
        : "";
    this.notice([problem, missed, ...stopped].filter(Boolean).join(" "));
    this.render();
  }

  // A link may have an expression that takes too long: it is left out, and said.
  dropExpressions(state, slot) {
    for (const name of ["stack", "without"]) {
      const text = state[slot][name];
      const problem = text && matchingFunctions(this.profile, text).problem;
      if (!problem) continue;
      state[slot] = { ...state[slot], [name]: "" };
      const words = name === "stack" ? "stacks with" : "stacks without";
      return `Left out: ${words} /${bounded(text, 60)}/ (${problem}).`;
    }
    return "";
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
    const empty = isEmpty(this.state.a) && isEmpty(this.state.b);
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
    byId("crumbs").hidden = state.view !== "flame";
    this.renderTime();
    showTip(this, null);
    ({
      flame: () => this.renderFlame(),
      table: () => this.renderTable(),
      function: () => this.renderFunction(),
    })[state.view]();
    showStatus(this, null);
  }

  renderLabels() {
    const { state } = this;
    const slot = state.compare ? this.slot : "";
    this.labels.show(
      this.questions.labelsInOrder(state, slot).map((entry) => {
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
      this.questions.kindWeights(state, slot),
    );
  }

  renderSearch() {
    const { state } = this;
    const input = byId("search");
    if (document.activeElement !== input) input.value = state.search;
    const found = this.questions.search(state);
    input.classList.toggle("wrong", Boolean(found?.problem));
    byId("search-keep").disabled = !found || Boolean(found.problem) || found.functions === 0;
    byId("search-result").textContent = resultText(found);
  }

  renderTime() {
    if (!this.state || this.profile.rows.timed === 0) return;
    const key = this.profile.keys.get(this.state.color);
    const slot = this.state.compare && this.slot !== "" ? this.slot : "filter";
    const bins = this.time.bins(this.profile.rows.timed);
    const bars = this.questions.histogram(this.state, bins);
    const colors = this.state.compare
      ? SIDE_COLORS
      : key
        ? Array.from({ length: CLASSES }, (_, part) => this.boxes.classColor(part))
        : [getComputedStyle(document.documentElement).getPropertyValue("--accent")];
    this.time.show({
      bars,
      colors,
      range: this.state[slot].time,
      whole: this.profile.rows.ticks,
      tick: this.profile.tick,
      cpus: this.profile.facts.mode === "cpu",
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
    renderCrumbs(this);
  }

  renderTable() {
    const { columns, order, sort } = functionTable(this.questions, this.state);
    this.table.show(columns, order, { sort, ascending: this.state.ascending });
  }

  renderFunction() {
    const { state } = this;
    const totals = this.questions.totals(state);
    const wholes = this.questions.slices(state).map((slice) => slice.weight);
    const share = (i, fn) => (wholes[i] > 0 ? totals[i].total[fn] / wholes[i] : 0);
    const ranked = this.questions.keep("ranked", this.questions.filters(state), () =>
      heaviestCodes(
        totals[0].total.map((_, fn) => share(0, fn) + (wholes.length > 1 ? share(1, fn) : 0)),
      ),
    );
    const chosen = state.function >= 0;
    this.functionView.show({
      profile: this.profile,
      ranked,
      totals,
      wholes,
      fn: state.function,
      trees: chosen ? this.questions.functionTrees(state) : null,
      breakdown: chosen ? breakdown(this) : [],
    });
  }

  // -- dialogs and keys

  openSave() {
    const { filter } = this.state;
    openSave(this.profile, {
      slice: this.questions.slice(this.state),
      part: filterParts(this, filter)
        .map(({ text }) => text)
        .join("; "),
      groups: this.questions.groups(this.state),
      onproblem: (text) => this.notice(text),
    });
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
  if (found.problem) return found.problem;
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
  setWeights(facts);
  showFacts(byId("title"), byId("facts-line"), byId("facts-details"), facts);
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
