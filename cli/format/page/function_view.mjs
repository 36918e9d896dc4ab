// One function: who calls it, what it calls, and whose work it is, by label.
import { element, fill } from "./dom.mjs";
import { FlameView } from "./flame.mjs";
import { bounded, percent, weightText } from "./text.mjs";

const MOST_FOUND = 50;

export class FunctionView {
  // `flame`: options of both flame graphs; `onpick(function)`
  constructor(parent, { flame, onpick }) {
    this.onpick = onpick;
    this.input = element("input", {
      type: "search",
      placeholder: "find a function…",
      "aria-label": "find a function",
      spellcheck: "false",
      oninput: () => this.find(),
      onkeydown: (event) => {
        if (event.key === "Enter" && this.found?.length > 0) this.onpick(this.found[0]);
        if (event.key === "ArrowDown") this.list.querySelector("button")?.focus();
      },
    });
    this.list = element("ul", { class: "found" });
    this.title = element("div", { class: "function-title" });
    this.labels = element("div", { class: "function-labels" });
    this.callersArea = element("div", { class: "half" });
    this.calleesArea = element("div", { class: "half" });
    this.graphs = element(
      "div",
      { class: "halves" },
      element("h3", {}, "callers"),
      this.callersArea,
      element("h3", {}, "callees"),
      this.calleesArea,
    );
    fill(
      parent,
      element(
        "div",
        { class: "function-head" },
        element("div", { class: "finder" }, this.input, this.list),
        this.title,
      ),
      this.labels,
      this.graphs,
    );
    const graph = (area, id) =>
      new FlameView(area, {
        ...flame,
        id,
        label: id,
        onzoom: (path) => this.zoom(id, path),
        onpick: (box) => onpick(box.function),
      });
    this.callers = graph(this.callersArea, "callers");
    this.callees = graph(this.calleesArea, "callees");
  }

  // `ranked`: functions, the heaviest first; `totals`, `wholes`: of what is chosen, or of A and of
  // B; `trees`: { callers, callees } or null
  show({ profile, ranked, totals, wholes, fn, trees, breakdown }) {
    Object.assign(this, { profile, ranked, totals, wholes, trees });
    this.input.value = "";
    this.find();
    this.graphs.hidden = trees === null;
    this.labels.hidden = trees === null;
    this.list.hidden = trees !== null;
    if (trees === null) {
      fill(
        this.title,
        element(
          "p",
          { class: "empty" },
          "Choose a function: here, in the table, or with a double click or f on a box of the " +
            "flame graph.",
        ),
      );
      return;
    }
    const { functions } = profile;
    fill(
      this.title,
      element("h2", {}, element("bdi", {}, bounded(functions.name(fn), 300))),
      element(
        "p",
        {},
        element(
          "bdi",
          {},
          bounded([functions.module(fn), functions.file(fn)].filter(Boolean).join(" · "), 400),
        ),
      ),
      ...totals.map((_, i) => element("p", { class: "sums" }, this.sumsText(fn, i))),
    );
    fill(this.labels, ...breakdown);
    this.callers.show(trees.callers, { icicle: false });
    this.callees.show(trees.callees, { icicle: true });
  }

  // "A: 600 ms in it and below (60.0%), 200 ms in it alone (20.0%)"
  sumsText(fn, i) {
    const { total, self } = this.totals[i];
    const whole = this.wholes[i];
    const side = this.totals.length > 1 ? `${"AB"[i]}: ` : "";
    return (
      `${side}${weightText(total[fn])} in it and below (${percent(total[fn], whole)}), ` +
      `${weightText(self[fn])} in it alone (${percent(self[fn], whole)})`
    );
  }

  shareText(fn) {
    const shares = this.totals.map(({ total }, i) => percent(total[fn], this.wholes[i]));
    return shares.length > 1 ? `A ${shares[0]}, B ${shares[1]}` : shares[0];
  }

  zoom(which, path) {
    this[which].show(this.trees[which], { zoom: path, icicle: which === "callees" });
  }

  find() {
    const query = this.input.value.toLowerCase();
    const { functions } = this.profile;
    this.found = [];
    for (const fn of this.ranked) {
      if (query === "" || functions.name(fn).toLowerCase().includes(query)) this.found.push(fn);
      if (this.found.length >= MOST_FOUND) break;
    }
    this.list.hidden = query === "" && this.trees !== null;
    fill(
      this.list,
      ...this.found.map((fn) =>
        element(
          "li",
          {},
          element(
            "button",
            { onclick: () => this.onpick(fn) },
            element("bdi", {}, bounded(functions.name(fn), 160)),
            element("span", { class: "share" }, this.shareText(fn)),
          ),
        ),
      ),
    );
  }
}
