// What is above the views: filters as chips, A and B, groups, options, the legend.
import { byId, element, fill } from "./dom.mjs";
import { NO_FILTER, withoutKey } from "./filter.mjs";
import { OTHER, SIDE_COLORS, TELLING, UNSET_COLOR, differenceColor } from "./palette.mjs";
import { CLASS_OTHER } from "./questions.mjs";
import { heaviestCodes } from "./tables.mjs";
import { bounded, counted, percent, weightText, UNREADABLE, UNSET } from "./text.mjs";
import { tokenText, valueText } from "./tree.mjs";

function filterChips(app, filter, change) {
  const chips = [];
  for (const { key, only, not } of filter.terms) {
    const text = [
      only.length > 0
        ? `${bounded(key, 40)} = ${only.map((one) => bounded(tokenText(one), 60)).join(" or ")}`
        : "",
      not.length > 0
        ? `${bounded(key, 40)} ≠ ${not.map((one) => bounded(tokenText(one), 60)).join(", ")}`
        : "",
    ]
      .filter(Boolean)
      .join(" and ");
    chips.push(chip(bounded(text, 160), () => change(withoutKey(filter, key))));
  }
  if (filter.time)
    chips.push(chip(`time ${app.time.text(filter.time)}`, () => change({ ...filter, time: null })));
  if (filter.stack)
    chips.push(
      chip(`stacks with /${bounded(filter.stack, 60)}/`, () => change({ ...filter, stack: "" })),
    );
  return chips;
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
        ? weightText(weight)
        : `${weightText(weight)}, ${percent(weight, whole)} of all`,
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
      state[slot].terms.length === 0 ? element("span", { class: "note" }, "everything") : null,
      element(
        "span",
        { class: "amount" },
        `${weightText(slices[index].weight)}, ${counted(slices[index].count, "sample", "samples")}`,
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
    state.compare || state.view === "table"
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
  area.hidden = state.view === "table" && !state.compare;
  const item = (color, text, hatched = false) =>
    element("span", { class: "entry" }, colorMark(color, hatched), element("bdi", {}, text));
  if (state.compare && state.view === "table") {
    fill(
      area,
      element(
        "span",
        { class: "note" },
        `~ may be chance: within ${TELLING} standard errors of so few samples`,
      ),
    );
    return;
  }
  if (state.compare) {
    fill(
      area,
      item(differenceColor(1, 0, 9, app.dark), "larger share of A"),
      item(differenceColor(1, 1, 0, app.dark), "no difference, or one that may be chance"),
      item(differenceColor(0, 1, 9, app.dark), "larger share of B"),
    );
    return;
  }
  const key = app.profile.keys.get(state.color);
  if (!key || state.inverted) {
    fill(
      area,
      state.inverted && key
        ? element("span", { class: "note" }, "upside down: coloured by function")
        : null,
    );
    return;
  }
  const classes = app.questions.classes(key);
  const { sums, whole } = app.questions
    .labels({ ...state, compare: false }, "")
    .find((entry) => entry.key === key);
  const seen = heaviestCodes(sums);
  const values = seen.filter((code) => classes[code] < CLASS_OTHER);
  const others = seen.filter((code) => classes[code] === CLASS_OTHER).length;
  fill(
    area,
    element("span", { class: "note" }, `${bounded(key.name, 40)}:`),
    ...values.map((code) =>
      item(
        app.boxes.classColor(classes[code]),
        `${bounded(valueText(key, code), 40)} ${percent(sums[code], whole)}`,
      ),
    ),
    others > 0 ? item(OTHER, counted(others, "other", "others")) : null,
    sums[0] > 0 ? item(UNSET_COLOR, UNSET, true) : null,
    sums[1] > 0 ? item(UNSET_COLOR, UNREADABLE, true) : null,
  );
}

function colorMark(color, hatched = false) {
  const mark = element("span", { class: hatched ? "mark hatched" : "mark" });
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
