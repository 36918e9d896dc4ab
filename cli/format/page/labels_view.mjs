// The labels: for every key its coverage, its number of values, and the heaviest as bars. A click
// on a bar keeps only that value; the button beside it leaves it out.
import { element, fill } from "./dom.mjs";
import { CODE_UNREADABLE, CODE_UNSET } from "./model.mjs";
import { bounded, counted, percent, theWeights, weightText } from "./text.mjs";
import { valueText } from "./tree.mjs";

const SHOWN = 6;
const MOST_SHOWN = 200;

export class LabelsView {
  // `onvalue(key name, token, "only" or "not")`, `onclear(key name)`, `ongroup(key name)`,
  // `oncolor(key name)`
  constructor(parent, actions) {
    this.parent = parent;
    this.actions = actions;
    this.open = new Map(); // key name -> all values are shown
    this.queries = new Map(); // key name -> what was typed
  }

  // entries: [{ key, sums, values: codes in their order, whole, term, color(code) or null, grouped,
  // colored }]
  show(entries) {
    // Thousands of values: nothing is done twice for the same.
    const same =
      this.entries?.length === entries.length &&
      entries.every((entry, i) => {
        const before = this.entries[i];
        return ["key", "sums", "whole", "term", "grouped", "colored", "palette", "sides"].every(
          (name) => entry[name] === before[name],
        );
      });
    if (same) return;
    this.entries = entries;
    const focus = document.activeElement?.dataset?.focus;
    fill(this.parent, ...entries.map((entry) => this.section(entry)));
    if (focus) this.parent.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
  }

  section(entry) {
    const { key, sums, values, whole, term, grouped, colored } = entry;
    const covered = whole - sums[CODE_UNSET] - sums[CODE_UNREADABLE];
    const named = values.filter((code) => code > CODE_UNREADABLE).length;
    const list = element("ul", { class: "values" });
    const section = element(
      "section",
      { class: term ? "key active" : "key", "aria-label": `label ${bounded(key.name, 80)}` },
      element(
        "header",
        {},
        element("h3", { title: bounded(key.name, 1000) }, bounded(key.name, 60)),
        element(
          "span",
          { class: "tools" },
          tool(
            grouped,
            grouped ? "Do not group by it" : "Group by it",
            "group",
            "≡",
            () => this.actions.ongroup(key.name),
            key,
          ),
          tool(
            colored,
            colored ? "Colour by function" : "Colour by it",
            "color",
            "◐",
            () => this.actions.oncolor(key.name),
            key,
          ),
          term
            ? element(
                "button",
                {
                  class: "clear",
                  title: "Show all values again",
                  onclick: () => this.actions.onclear(key.name),
                },
                "clear",
              )
            : null,
        ),
      ),
      element(
        "p",
        { class: "coverage" },
        `${percent(covered, whole)} of ${theWeights()} · ${counted(named, "value", "values")}`,
      ),
      values.length > SHOWN ? this.query(entry, values, list) : null,
      list,
    );
    this.fillList(entry, values, list);
    return section;
  }

  query(entry, values, list) {
    const { key } = entry;
    const input = element("input", {
      type: "search",
      placeholder: `filter ${counted(values.length, "value", "values")}…`,
      spellcheck: "false",
      "aria-label": `filter the values of ${bounded(key.name, 80)}`,
      "data-focus": `query ${key.name}`,
      oninput: () => {
        this.queries.set(key.name, input.value);
        this.fillList(entry, values, list);
      },
    });
    input.value = this.queries.get(key.name) ?? "";
    return input;
  }

  fillList(entry, values, list) {
    const { key } = entry;
    const query = (this.queries.get(key.name) ?? "").toLowerCase();
    const chosen = new Set(
      [...(entry.term?.only ?? []), ...(entry.term?.not ?? [])].map((token) => key.codeOf(token)),
    );
    const found =
      query === ""
        ? values
        : values.filter((code) => valueText(key, code).toLowerCase().includes(query));
    const most = query !== "" || this.open.get(key.name) ? MOST_SHOWN : SHOWN;
    let shown = found.slice(0, most);
    // What is chosen stays in sight, and can be clicked again.
    for (const code of chosen)
      if (code !== undefined && !shown.includes(code) && query === "") shown = [...shown, code];
    const largest = shown.reduce((most, code) => Math.max(most, entry.sums[code]), 0);
    const items = shown.map((code) => this.item(entry, code, largest));
    const rest = found.length - shown.length;
    if (found.length === 0) items.push(element("li", { class: "note" }, "no value has this in it"));
    if (rest > 0 || (this.open.get(key.name) && query === "")) {
      const full = most === MOST_SHOWN;
      items.push(
        element(
          "li",
          { class: "note" },
          rest > 0 && full
            ? `${counted(rest, "more", "more")}: type to find them`
            : element(
                "button",
                {
                  onclick: () => {
                    this.open.set(key.name, !this.open.get(key.name));
                    this.fillList(entry, values, list);
                  },
                },
                rest > 0 ? `${counted(rest, "more value", "more values")}` : "fewer",
              ),
        ),
      );
    }
    fill(list, ...items);
  }

  item(entry, code, largest) {
    const { key, sums, whole, term } = entry;
    const token = key.token(code);
    const only = term?.only.includes(token) ?? false;
    const not = term?.not.includes(token) ?? false;
    const text = valueText(key, code);
    const shown = bounded(text, 200);
    const bar = element("span", { class: "bar" });
    bar.style.width = `${largest > 0 ? (100 * sums[code]) / largest : 0}%`;
    const color = entry.color(code);
    if (color) bar.style.background = color;
    const share = percent(sums[code], whole);
    const ours = typeof token !== "string" || token === "";
    return element(
      "li",
      { class: only ? "only" : not ? "not" : "" },
      element(
        "button",
        {
          class: "value",
          "aria-pressed": String(only),
          "data-focus": `only ${key.name} ${code}`,
          title:
            `${bounded(text, 600)}\n${weightText(sums[code])}, ${share}\n` +
            "Click: only this. Alt-click: leave it out.",
          onclick: (event) => this.actions.onvalue(key.name, token, event.altKey ? "not" : "only"),
        },
        bar,
        element("bdi", { class: ours ? "text ours" : "text" }, shown),
        element("span", { class: "share" }, share),
      ),
      element(
        "button",
        {
          class: "exclude",
          "aria-pressed": String(not),
          "aria-label": `leave out ${shown}`,
          title: "Leave it out",
          "data-focus": `not ${key.name} ${code}`,
          onclick: () => this.actions.onvalue(key.name, token, "not"),
        },
        "−",
      ),
    );
  }
}

function tool(pressed, title, name, text, onclick, key) {
  return element(
    "button",
    {
      class: "tool",
      title,
      "aria-label": `${title}: ${bounded(key.name, 80)}`,
      "aria-pressed": String(pressed),
      onclick,
      "data-focus": `${name} ${key.name}`,
    },
    text,
  );
}
