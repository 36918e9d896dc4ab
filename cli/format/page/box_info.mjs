// What a box of a flame graph says, below the graph and beside the pointer, and what it offers.
import { byId, copyText, element, fill } from "./dom.mjs";
import { withValue, withoutKey } from "./filter.mjs";
import { boxLabel } from "./flame.mjs";
import { openMenu } from "./menu.mjs";
import { pattern } from "./regex.mjs";
import { heaviestCodes } from "./tables.mjs";
import { bounded, percent, weightText } from "./text.mjs";
import { boxName, valueText } from "./tree.mjs";

// A longer name makes no expression that is worth a link.
const LONGEST_NAME = 1000;

// What a click does here.
function hint({ view, function: fn }) {
  if (view === "table") return "Click a row for its function, a head to sort by it. Keys: ?";
  return view === "function" && fn < 0
    ? "Keys: ?"
    : "Click a box to zoom, double-click for its function, right-click for more. Keys: ?";
}

// `zoom(path)` zooms the graph that has the box.
export function showStatus(app, box, zoom) {
  const area = byId("status");
  if (!box) {
    fill(area, app.whole === 0 ? "No sample passes these filters." : hint(app.state));
    return;
  }
  const offers = offersOf(app, box, zoom).slice(0, 2);
  fill(
    area,
    element("bdi", {}, bounded(app.boxes.describe(box), 400)),
    ...offers.map(({ text, action }) =>
      element("button", { class: "link", onclick: action }, text),
    ),
  );
}

export function showTip(app, box, event) {
  const tip = byId("tip");
  tip.hidden = !box || !event || event.pointerType === "touch" || !byId("menu").hidden;
  if (tip.hidden) return;
  const { profile, boxes } = app;
  const name = bounded(boxName(profile, box), 400);
  const rest = boxes.describe(box).slice(boxLabel(profile, box).length + 2);
  const lines = [element("strong", {}, element("bdi", {}, name)), element("div", {}, rest)];
  if (box.kind === "function") {
    const { functions } = profile;
    const parts = [functions.module(box.function), functions.file(box.function)];
    const place = bounded(parts.filter(Boolean).join(" · "), 300);
    if (place) lines.push(element("div", { class: "note" }, element("bdi", {}, place)));
  }
  for (const [value, share] of boxes.tipValues(box)) {
    const text = element("bdi", {}, bounded(value, 80));
    lines.push(element("div", { class: "tip-value" }, text, element("span", {}, share)));
  }
  fill(tip, ...lines);
  const area = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - area.width - 8))}px`;
  const below = event.clientY + 18;
  const above = Math.max(4, event.clientY - area.height - 10);
  tip.style.top = `${below + area.height > innerHeight ? above : below}px`;
}

export function openBoxMenu(app, box, x, y, zoom) {
  byId("tip").hidden = true;
  const zoomIn = { text: "zoom in", action: () => zoom(box.path) };
  openMenu(x, y, [...offersOf(app, box, zoom), ...(box.kind !== "other" ? [zoomIn] : [])]);
}

const escaped = (name) => `^${name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}$`;

// What also leaves out the stacks with this function; as it was, if that becomes too much for a
// search.
function leaveOut(app, filter, one) {
  const without = filter.without ? `${filter.without}|${one}` : one;
  const { problem } = pattern(without);
  if (!problem) return { ...filter, without };
  app.notice(`This function is not left out as well. The search would be refused: ${problem}`);
  return filter;
}

function offersOf(app, box, zoom) {
  if (box.kind === "root") return [{ text: "copy", action: () => copyText("all") }];
  if (box.kind === "other") {
    return [{ text: "open", action: () => zoom(box.path) }];
  }
  const name = box.kind === "function" ? app.profile.functions.name(box.function) : null;
  if (name === null) {
    const { groupKey: key, code } = box;
    const token = key.token(code);
    const only = (filter) => withValue(withoutKey(filter, key.name), key.name, token, "only");
    const not = (filter) => withValue(filter, key.name, token, "not");
    return [
      { text: "only this value", action: () => app.changeFilter(only) },
      { text: "without it", action: () => app.changeFilter(not) },
      { text: "copy the value", action: () => copyText(valueText(key, code)) },
    ];
  }
  const open = { text: "callers and callees", action: () => app.openFunction(box.function) };
  const copy = { text: "copy the name", action: () => copyText(name) };
  if (name.length > LONGEST_NAME) return [open, copy];
  const one = escaped(name);
  const without = (filter) => leaveOut(app, filter, one);
  return [
    open,
    { text: "only stacks with it", action: () => app.changeFilter((f) => ({ ...f, stack: one })) },
    { text: "without it", action: () => app.changeFilter(without) },
    copy,
  ];
}

// Bars of the labels under one function; two bars a value, where A and B are compared.
export function breakdown(app) {
  const entries = app.questions.breakdown(app.state, app.state.function);
  const named = entries.filter((entry) => entry.key.values.length > 0);
  return named.slice(0, 12).map(({ key, sums, wholes }) => {
    const share = (code, i) => (wholes[i] > 0 ? sums[i][code] / wholes[i] : 0);
    const most = sums[0].map((_, code) => Math.max(...sums.map((__, i) => share(code, i))));
    return element(
      "section",
      { class: "key" },
      element("h3", {}, bounded(key.name, 60)),
      element(
        "ul",
        { class: "values" },
        ...heaviestCodes(most, 4).map((code) => breakdownItem(app, key, code, { sums, share })),
      ),
    );
  });
}

function breakdownItem(app, key, code, { sums, share }) {
  const bars = sums.map((_, i) => {
    const bar = element("span", { class: sums.length > 1 ? `bar side-${"ab"[i]}` : "bar" });
    bar.style.width = `${100 * share(code, i)}%`;
    if (sums.length === 1) bar.style.background = app.boxes.valueColor(key, code) ?? "";
    return bar;
  });
  const shares = sums.map((_, i) => percent(share(code, i), 1));
  return element(
    "li",
    {},
    element(
      "span",
      { class: "value", title: sums.map((sum) => weightText(sum[code])).join(", ") },
      ...bars,
      element("bdi", { class: "text" }, bounded(valueText(key, code), 80)),
      element(
        "span",
        { class: "share" },
        shares.length > 1 ? `A ${shares[0]}, B ${shares[1]}` : shares[0],
      ),
    ),
  );
}
