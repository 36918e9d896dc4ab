// The table of functions: self and total, a column for each value of a label, or A and B.
import { element } from "./dom.mjs";
import { TELLING } from "./palette.mjs";
import { baseName, bounded, counted, percent, weightText, weightsName } from "./text.mjs";
import { valueText } from "./tree.mjs";

// { columns, order, sort } for a TableView.
export function functionTable(questions, state) {
  const { profile } = questions;
  const found = questions.search(state);
  const totals = questions.totals(state);
  const wholes = questions.slices(state).map((slice) => slice.weight);
  const columns = [
    { id: "name", title: "function", values: null, cell: (fn) => nameCell(profile, fn) },
  ];
  const amount = (id, title, values, whole, hint) =>
    columns.push({
      id,
      title: bounded(title, 60),
      hint,
      values,
      numeric: true,
      cell: (fn) => amountCell(values[fn], whole),
    });
  if (state.compare) {
    addComparison(questions, state, columns, totals, wholes);
  } else {
    amount("self", "self", totals[0].self, wholes[0], `${weightsName()} in the function alone`);
    amount(
      "total",
      "total",
      totals[0].total,
      wholes[0],
      `${weightsName()} in the function and below`,
    );
    const pivot = questions.pivot(state);
    const key = profile.keys.get(state.pivot);
    for (const column of pivot?.columns ?? []) {
      const text =
        column.code < 0 ? counted(pivot.others, "other", "others") : valueText(key, column.code);
      amount(
        `v${column.code}`,
        text,
        state.pivotTotal ? column.total : column.self,
        column.whole,
        `${state.pivotTotal ? "total" : "self"} where ${bounded(key.name, 60)} is ` +
          `${bounded(text, 300)}; shares of its ${weightText(column.whole)}`,
      );
    }
  }
  const order = [];
  for (let fn = 0; fn < profile.functions.count; fn++) {
    if (totals.some((one) => one.total[fn] > 0) && (!found?.matches || found.matches[fn] === 1))
      order.push(fn);
  }
  const sorted = columns.find((column) => column.id === state.sort) ?? columns[1];
  const direction = state.ascending ? 1 : -1;
  const { values } = sorted;
  if (sorted.compare) order.sort((a, b) => -direction * sorted.compare(a, b));
  else if (values === null)
    order.sort(
      (a, b) => direction * (profile.functions.name(a) < profile.functions.name(b) ? -1 : 1),
    );
  else
    order.sort(
      (a, b) =>
        direction * (values[a] - values[b]) || totals[0].total[b] - totals[0].total[a] || a - b,
    );
  return { columns, order, sort: sorted.id };
}

function addComparison(questions, state, columns, totals, wholes) {
  const counts = questions.counts(state);
  for (const what of ["self", "total"]) {
    const share = (index) =>
      totals[index][what].map((value) => (wholes[index] > 0 ? value / wholes[index] : 0));
    const [a, b] = [share(0), share(1)];
    const difference = b.map((value, fn) => value - a[fn]);
    const errors = (fn) => {
      const of = [counts[0][what][fn], counts[1][what][fn]];
      return questions.errors(of, [counts[0].whole, counts[1].whole]);
    };
    const chance = difference.map((_, fn) => Number(Math.abs(errors(fn)) < TELLING));
    columns.push(
      {
        id: `${what} a`,
        title: `${what} A`,
        numeric: true,
        values: a,
        cell: (fn) => percent(a[fn], 1),
      },
      {
        id: `${what} b`,
        title: `${what} B`,
        numeric: true,
        values: b,
        cell: (fn) => percent(b[fn], 1),
      },
      {
        id: what,
        title: `B − A`,
        hint: `difference of ${what}, the largest first; ~ after it: it may be chance`,
        numeric: true,
        values: difference,
        // As labelscope diff has them: what may be chance comes last.
        compare: (x, y) =>
          chance[x] - chance[y] ||
          Math.abs(difference[y]) - Math.abs(difference[x]) ||
          totals[0].total[y] - totals[0].total[x] ||
          x - y,
        cell: (fn) => differenceCell(difference[fn], errors(fn)),
      },
    );
  }
}

function differenceCell(difference, errors) {
  const chance = Math.abs(errors) < TELLING;
  return element(
    "span",
    {
      class: chance ? "difference chance" : difference > 0 ? "difference more" : "difference less",
      title: chance
        ? "no more than chance makes of so few samples"
        : Number.isFinite(errors)
          ? `${Math.abs(errors).toFixed(1)} standard errors`
          : null,
    },
    (difference > 0 ? "+" : difference < 0 ? "−" : "") + (100 * Math.abs(difference)).toFixed(1),
    element("span", { class: "doubt" }, chance && difference !== 0 ? "~" : ""),
  );
}

// "[plt]" and the like are in many modules: only with the module is it known which one is meant.
function nameCell(profile, fn) {
  const name = profile.functions.name(fn);
  const module = name.startsWith("[") ? baseName(profile.functions.module(fn)) : "";
  return element(
    "bdi",
    { title: bounded(functionPlace(profile, fn), 1000) },
    bounded(name, 300),
    module !== "" && !name.includes(module)
      ? element("span", { class: "note" }, ` ${bounded(module, 60)}`)
      : null,
  );
}

function functionPlace({ functions }, fn) {
  return [functions.name(fn), functions.module(fn), functions.file(fn)].filter(Boolean).join("\n");
}

function amountCell(weight, whole) {
  if (!(weight > 0)) return element("span", { class: "none" }, "·");
  const bar = element("span", { class: "bar" });
  bar.style.width = `${(100 * weight) / whole}%`;
  return element(
    "span",
    { class: "amount-cell" },
    bar,
    element("span", { class: "share" }, percent(weight, whole)),
    element("span", { class: "time-text" }, weightText(weight)),
  );
}
