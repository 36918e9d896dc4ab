// The labels: for every key its coverage, its number of values, and the heaviest as bars. A click
// on a bar keeps only that value; the button beside it leaves it out.
import { element, fill } from "./dom.mjs";
import { CODE_UNREADABLE, CODE_UNSET } from "./model.mjs";
import { bounded, counted, percent, theWeights, weightText } from "./text.mjs";
import { TIME_KINDS, kindsOfValue, stripes } from "./time_kinds.mjs";
import { valueText } from "./tree.mjs";

const SHOWN = 6;
const MOST_SHOWN = 200;
const FEW_KEYS = 8;
const MOST_OPEN = 12;

export class LabelsView {
  // `onvalue(key name, token, "only" or "not")`, `onclear(key name)`, `ongroup(key name)`,
  // `oncolor(key name)`
  constructor(parent, actions) {
    this.parent = parent;
    this.actions = actions;
    this.open = new Map(); // key name -> all values are shown
    this.queries = new Map(); // key name -> what was typed
    this.unfolded = new Map(); // key name -> whether somebody has opened or closed it
    this.search = element("input", {
      type: "search",
      class: "key-search",
      spellcheck: "false",
      "aria-label": "filter the labels",
      oninput: () => this.filterKeys(),
    });
    this.legend = element("div", { class: "legend kinds", "aria-label": "kinds of time" });
    this.area = element("div");
    fill(parent, this.search, this.legend, this.area);
  }

  // entries: [{ key, sums, values: codes in their order, whole, term, color(code) or null, grouped,
  // colored, kinds: sums by kind of time, or null }]
  // `kinds`: all time by its kind, or null
  show(entries, kinds) {
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
    this.search.hidden = entries.length <= FEW_KEYS;
    this.search.placeholder = `filter ${counted(entries.length, "label", "labels")}…`;
    fill(this.legend, ...kindItems(kinds));
    fill(this.area, ...entries.map((entry, i) => this.section(entry, i)));
    this.filterKeys();
    if (focus) this.parent.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
  }

  filterKeys() {
    const query = this.search.hidden ? "" : this.search.value.toLowerCase();
    [...this.area.children].forEach((section, i) => {
      section.hidden = !this.entries[i].key.name.toLowerCase().includes(query);
    });
  }

  // A key with one value, and the keys behind the first ones, are a line that opens.
  isFolded({ key, values, term }, place) {
    const chosen = this.unfolded.get(key.name);
    if (chosen !== undefined) return !chosen;
    return !term && (namedOf(values).length <= 1 || place >= MOST_OPEN);
  }

  section(entry, place) {
    const { key, values, term, grouped, colored } = entry;
    const folded = this.isFolded(entry, place);
    const section = element("section", {
      class: `key${term ? " active" : ""}${folded ? " folded" : ""}`,
      "aria-label": `label ${bounded(key.name, 80)}`,
    });
    const { actions } = this;
    const fold = () => {
      this.unfolded.set(key.name, folded);
      section.replaceWith(this.section(entry, place));
      this.area.querySelector(`[data-focus="${CSS.escape(`fold ${key.name}`)}"]`)?.focus();
    };
    const title = element(
      "button",
      {
        class: "fold",
        "aria-expanded": String(!folded),
        title: bounded(key.name, 1000),
        "data-focus": `fold ${key.name}`,
        onclick: fold,
      },
      bounded(key.name, 60),
    );
    const group = grouped ? "Do not group by it" : "Group by it";
    const color = colored ? "Colour by function" : "Colour by it";
    const tools = [
      tool(grouped, group, "group", "≡", () => actions.ongroup(key.name), key),
      tool(colored, color, "color", "◐", () => actions.oncolor(key.name), key),
    ];
    if (term) {
      const show = { class: "clear", title: "Show all values again" };
      tools.push(element("button", { ...show, onclick: () => actions.onclear(key.name) }, "clear"));
    }
    const head = element("header", {}, element("h3", {}, title));
    head.append(element("span", { class: "tools" }, ...tools));
    section.append(head, element("p", { class: "coverage" }, coverageText(entry, folded)));
    if (folded) return section;
    const list = element("ul", { class: "values" });
    if (values.length > SHOWN) section.append(this.query(entry, values, list));
    section.append(list);
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
    const parts = entry.kinds ? kindsOfValue(entry.kinds, code) : [];
    if (parts.length > 0) bar.style.background = stripes(parts);
    else if (color) bar.style.background = color;
    if (parts.length > 0 && color) bar.style.boxShadow = `inset 6px 0 0 ${color}`;
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
            parts.map(({ name, weight }) => `${name} ${weightText(weight)}\n`).join("") +
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

// What the stripes of bars mean: the kinds that occur, with their shares of all time.
function kindItems(kinds) {
  const whole = kinds?.reduce((sum, one) => sum + one, 0) ?? 0;
  return TIME_KINDS.flatMap(({ name, color }, i) => {
    if (!kinds || kinds[i] === 0) return [];
    const mark = element("span", { class: "mark" });
    mark.style.backgroundColor = color;
    return [element("span", { class: "entry" }, mark, `${name} ${percent(kinds[i], whole)}`)];
  });
}

const namedOf = (values) => values.filter((code) => code > CODE_UNREADABLE);

// "90.0% of the time · 2 values"; of a key that is folded and has one value, that value.
function coverageText({ key, sums, values, whole }, folded) {
  const covered = whole - sums[CODE_UNSET] - sums[CODE_UNREADABLE];
  const named = namedOf(values);
  const share = percent(covered, whole);
  if (folded && named.length === 1) return `${bounded(valueText(key, named[0]), 60)} · ${share}`;
  return `${share} of ${theWeights()} · ${counted(named.length, "value", "values")}`;
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
