// What is above the views: filters as chips, A and B, groups, options, the legend.
import { byId, element, fill } from "./dom.mjs";
import { NO_FILTER, isEmpty, withoutKey } from "./filter.mjs";
import {
  OTHER,
  SIDE_COLORS,
  TELLING,
  UNREADABLE_COLOR,
  UNSET_COLOR,
  differenceColor,
} from "./palette.mjs";
import { CLASS_OTHER } from "./questions.mjs";
import { heaviestCodes } from "./tables.mjs";
import { bounded, countText, counted, percent, wholeText, UNREADABLE, UNSET } from "./text.mjs";
import { boxName, tokenText, valueText } from "./tree.mjs";

// What a filter demands, in words, and the filter without that: [{ text, without }].
export function filterParts(app, filter) {
  const parts = [];
  const tokens = (list) => list.map((one) => bounded(tokenText(one), 60));
  for (const { key, only, not } of filter.terms) {
    const name = bounded(key, 40);
    const demands = [
      only.length > 0 ? `${name} = ${tokens(only).join(" or ")}` : "",
      not.length > 0 ? `${name} ≠ ${tokens(not).join(", ")}` : "",
    ];
    const text = bounded(demands.filter(Boolean).join(" and "), 160);
    parts.push({ text, without: withoutKey(filter, key) });
  }
  if (filter.time) {
    const without = { ...filter, time: null };
    parts.push({ text: `time ${app.time.text(filter.time)}`, without });
  }
  if (filter.stack) {
    const without = { ...filter, stack: "" };
    parts.push({ text: `stacks with /${bounded(filter.stack, 60)}/`, without });
  }
  if (filter.without) {
    const without = { ...filter, without: "" };
    parts.push({ text: `stacks without /${bounded(filter.without, 60)}/`, without });
  }
  return parts;
}

function filterChips(app, filter, change) {
  return filterParts(app, filter).map(({ text, without }) => chip(text, () => change(without)));
}

export function renderChips(app) {
  const { filter } = app.state;
  const chips = filterChips(app, filter, (changed) => app.set({ filter: changed }));
  const whole = app.questions.everything.weight;
  const weight = app.questions.slice(app.state).weight;
  fill(
    byId("chips"),
    element(
      "span",
      { class: "amount" },
      weight === whole
        ? wholeText(weight)
        : `${wholeText(weight)}, ${percent(weight, whole)} of all`,
    ),
    ...chips,
    chips.length > 1
      ? element(
          "button",
          { class: "link", onclick: () => app.set({ filter: NO_FILTER }) },
          "clear all",
        )
      : null,
  );
}

export function renderCompare(app) {
  const area = byId("compare");
  const { state } = app;
  area.hidden = !state.compare;
  if (!state.compare) return;
  const slices = app.questions.slices(state);
  const part = (slot, index) =>
    element(
      "div",
      { class: `part part-${slot}` },
      colorMark(SIDE_COLORS[index]),
      element("strong", {}, slot.toUpperCase()),
      ...filterChips(app, state[slot], (changed) => app.set({ [slot]: changed })),
      isEmpty(state[slot]) ? element("span", { class: "note" }, "everything") : null,
      element(
        "span",
        { class: "amount" },
        `${wholeText(slices[index].weight)}, ${countText(slices[index].count)}`,
      ),
    );
  const choice = (slot, text) =>
    element(
      "button",
      {
        title: `A click on a value of a label changes ${slot === "" ? "both A and B" : text}`,
        "aria-label": `labels filter ${text}`,
        "aria-pressed": String(app.slot === slot),
        onclick: () => {
          app.slot = slot;
          app.render();
        },
      },
      text,
    );
  fill(
    area,
    part("a", 0),
    part("b", 1),
    element(
      "div",
      { class: "choice" },
      "Labels filter ",
      element("span", { class: "tabs" }, choice("a", "A"), choice("b", "B"), choice("", "both")),
    ),
    element(
      "button",
      { class: "link", onclick: () => app.set({ a: state.b, b: state.a }) },
      "swap",
    ),
  );
}

// Where in the tree one is, each step a way back. A deep path shows its ends.
export function renderCrumbs(app) {
  const path = [];
  for (let box = app.flame.zoomed; box !== null; box = box.parent) path.unshift(box);
  const most = 6;
  const cut = path.length > most ? path.length - most : 0;
  const shown = [path[0], ...path.slice(1 + cut)];
  const parts = shown.flatMap((box, i) => {
    const text = bounded(box.parent === null ? "all" : boxName(app.profile, box), 40);
    const last = box === path.at(-1);
    const crumb = last
      ? element("strong", { "aria-current": "location" }, text)
      : element("button", { class: "link", onclick: () => app.set({ zoom: box.path }) }, text);
    const gap = i === 1 && cut > 0 ? " ▸ … ▸ " : " ▸ ";
    return i === 0 ? [crumb] : [element("span", { class: "note" }, gap), crumb];
  });
  const reset = { class: "link", onclick: () => app.set({ zoom: [] }) };
  fill(
    byId("crumbs"),
    ...parts,
    path.length > 1 ? element("button", reset, "reset the zoom") : null,
  );
}

export function renderGroups(app) {
  const { state, profile } = app;
  const move = (from, to) => {
    const groups = [...state.groups];
    groups.splice(to, 0, ...groups.splice(from, 1));
    app.set({ groups });
  };
  byId("groups").hidden = state.view !== "flame";
  const chips = state.groups.map((name, i) =>
    element(
      "span",
      { class: "chip group" },
      i > 0
        ? element(
            "button",
            { "aria-label": `move ${bounded(name, 60)} outwards`, onclick: () => move(i, i - 1) },
            "◂",
          )
        : null,
      element("bdi", {}, bounded(name, 40)),
      i + 1 < state.groups.length
        ? element(
            "button",
            { "aria-label": `move ${bounded(name, 60)} inwards`, onclick: () => move(i, i + 1) },
            "▸",
          )
        : null,
      element(
        "button",
        {
          "aria-label": `do not group by ${bounded(name, 60)}`,
          onclick: () => app.toggleGroup(name),
        },
        "×",
      ),
    ),
  );
  const left = [...profile.keys.keys()].filter((name) => !state.groups.includes(name));
  const add = select(
    "group-add",
    "group by a label",
    [["", state.groups.length > 0 ? "then by…" : "group by…"], ...left.map(named)],
    "",
    (name) => app.toggleGroup(name),
  );
  fill(
    byId("groups"),
    ...chips,
    add,
    state.groups.length > 0 && !state.inverted
      ? toggle("as leaves", "Groups below the functions, not above them", state.leaves, () =>
          app.set({ leaves: !state.leaves }),
        )
      : null,
  );
  const options =
    state.view === "flame"
      ? [
          toggle(state.icicle ? "icicle" : "flame", "Root above or below (i)", false, () =>
            app.set({ icicle: !state.icicle }),
          ),
          toggle(
            "upside down",
            "From the functions at the end of the stacks to their callers (u)",
            state.inverted,
            () => app.set({ inverted: !state.inverted }),
          ),
        ]
      : state.view === "table" && !state.compare
        ? [
            select(
              "pivot",
              "columns by a label",
              [
                ["", "no columns by label"],
                ...[...profile.keys.keys()].map((name) => [name, `columns: ${bounded(name, 30)}`]),
              ],
              state.pivot,
              (pivot) => app.set({ pivot }),
            ),
            state.pivot !== ""
              ? toggle(state.pivotTotal ? "total" : "self", "What the columns show", false, () =>
                  app.set({ pivotTotal: !state.pivotTotal }),
                )
              : null,
          ]
        : [];
  const colors =
    state.compare || state.view !== "flame"
      ? null
      : select(
          "color",
          "colour",
          [
            ["", "colour: function"],
            ...[...profile.keys.keys()].map((name) => [name, `colour: ${bounded(name, 30)}`]),
          ],
          state.color,
          (color) => app.set({ color }),
        );
  fill(byId("view-options"), ...options, colors);
}

export function renderLegend(app) {
  const { state } = app;
  const area = byId("legend");
  const note = (text) => element("span", { class: "note" }, text);
  if (state.compare) {
    fill(area, ...(state.view === "table" ? [chanceNote(app, note)] : compareLegend(app)));
    return;
  }
  const byFunction = note("functions are coloured by their module");
  const key = app.profile.keys.get(state.color);
  const grouped = state.inverted && state.groups.includes(state.color);
  const colored = key && state.view === "flame" && (!state.inverted || grouped);
  if (state.view === "table") fill(area);
  else if (!colored) fill(area, byFunction);
  else fill(area, ...valueLegend(app, key, note), grouped ? byFunction : null);
}

function chanceNote(app, note) {
  return note(
    app.profile.sampled
      ? `~ may be chance: within ${TELLING} standard errors of so few samples`
      : "how much of a difference is chance is not known: this was counted, not sampled",
  );
}

function compareLegend(app) {
  const item = (a, b, errors, text) => legendItem(differenceColor(a, b, errors, app.dark), text);
  const none = app.profile.sampled ? "no difference, or one that may be chance" : "no difference";
  return [
    item(1, 0, 9, "larger share of A"),
    item(1, 1, 0, none),
    item(0, 1, 9, "larger share of B"),
  ];
}

function valueLegend(app, key, note) {
  const classes = app.questions.classes(key);
  const { sums, whole } = app.questions
    .labels({ ...app.state, compare: false }, "")
    .find((entry) => entry.key === key);
  const seen = heaviestCodes(sums);
  const values = seen.filter((code) => classes[code] < CLASS_OTHER);
  const others = seen.filter((code) => classes[code] === CLASS_OTHER).length;
  const valueItem = (code) => {
    const text = `${bounded(valueText(key, code), 40)} ${percent(sums[code], whole)}`;
    return legendItem(app.boxes.classColor(classes[code]), text);
  };
  return [
    note(`${bounded(key.name, 40)}:`),
    ...values.map(valueItem),
    others > 0 ? legendItem(OTHER, counted(others, "other", "others")) : null,
    sums[0] > 0 ? legendItem(UNSET_COLOR, UNSET, "up") : null,
    sums[1] > 0 ? legendItem(UNREADABLE_COLOR, UNREADABLE, "down") : null,
  ];
}

function legendItem(color, text, hatched = "") {
  const shown = element("bdi", {}, text);
  return element("span", { class: "entry" }, colorMark(color, hatched), shown);
}

function colorMark(color, hatched = "") {
  const mark = element("span", { class: hatched ? `mark hatched-${hatched}` : "mark" });
  mark.style.backgroundColor = color;
  return mark;
}

function chip(text, onremove) {
  return element(
    "span",
    { class: "chip" },
    element("bdi", {}, text),
    element("button", { "aria-label": `remove the filter ${text}`, onclick: onremove }, "×"),
  );
}

function toggle(text, title, pressed, onclick) {
  return element(
    "button",
    { class: "toggle", title, "aria-pressed": String(pressed), onclick },
    text,
  );
}

const named = (name) => [name, bounded(name, 40)];

function select(id, label, options, value, onchange) {
  const made = element(
    "select",
    { id, "aria-label": label, onchange: () => onchange(made.value) },
    ...options.map(([name, text]) => element("option", { value: name }, text)),
  );
  made.value = value;
  return made;
}
