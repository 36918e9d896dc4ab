// Which rows are chosen. A filter is
//   { terms: [{ key, only: [value...], not: [value...] }], time: [from, to] or null,
//     stack: regexp or "", without: regexp or "" }
// where some function of a stack must match `stack`, and none may match `without`,
// with a term for each key at most. A value is a string, null (unset) or false (unreadable).

import { STOPPED, pattern } from "./regex.mjs";

export const NO_FILTER = Object.freeze({ terms: [], time: null, stack: "", without: "" });
export const isEmpty = ({ terms, time, stack, without }) =>
  terms.length === 0 && time === null && stack === "" && without === "";
// Terms have a bit each; those behind the last bit share it.
const TERM_BITS = 28;
const TIME_BIT = 1 << 29;
const STACK_BIT = 1 << 30;
const KEPT_SEARCHES = 8;

// { matches: a byte for each function, 1 where its name matches }, or { problem }.
export function matchingFunctions(profile, text) {
  profile.searches ??= new Map();
  let found = profile.searches.get(text);
  if (found) return found;
  found = search(profile, text);
  if (profile.searches.size >= KEPT_SEARCHES)
    profile.searches.delete(profile.searches.keys().next().value);
  profile.searches.set(text, found);
  return found;
}

function search(profile, text) {
  const regexp = pattern(text);
  if (regexp.problem) return regexp;
  const matches = new Uint8Array(profile.functions.count);
  for (let f = 0; f < matches.length && !regexp.stopped; f++) {
    matches[f] = regexp.test(profile.functions.name(f)) ? 1 : 0;
  }
  return regexp.stopped ? { problem: STOPPED } : { matches };
}

// Calls back with the rows below each outermost node that matches.
export function forMatchingRows(profile, matches, each) {
  const { nodes, rows } = profile;
  for (let node = 1; node < nodes.count;) {
    if (matches[nodes.function[node]]) {
      each(rows.firstRow[node], rows.firstRow[nodes.end[node]], node);
      node = nodes.end[node];
    } else {
      node += 1;
    }
  }
}

function allowedCodes(key, term) {
  const allowed = new Uint8Array(key.codeCount).fill(term.only.length > 0 ? 0 : 1);
  for (const value of term.only) {
    const code = key.codeOf(value);
    if (code !== undefined) allowed[code] = 1;
  }
  for (const value of term.not) {
    const code = key.codeOf(value);
    if (code !== undefined) allowed[code] = 0;
  }
  return allowed;
}

// For each row the bits of what it fails: 0 is a chosen row. `bitOf` has the bit of a key's term.
export function failedBits(profile, filter) {
  const { rows, sets, threads } = profile;
  const bits = new Uint32Array(rows.count);
  const bySet = new Uint32Array(sets.count);
  const byThread = new Uint32Array(threads.count);
  const bitOf = new Map();
  filter.terms.forEach((term, index) => {
    const key = profile.keys.get(term.key);
    if (!key) return;
    const bit = 1 << Math.min(index, TERM_BITS - 1);
    if (index < TERM_BITS - 1) bitOf.set(term.key, bit);
    const allowed = allowedCodes(key, term);
    if (key.byThread === null) {
      for (let set = 0; set < sets.count; set++) if (!allowed[key.bySet[set]]) bySet[set] |= bit;
    } else if (key.bySet === null) {
      for (let t = 0; t < threads.count; t++) if (!allowed[key.byThread[t]]) byThread[t] |= bit;
    } else {
      const codes = profile.codes(key);
      for (let row = 0; row < rows.count; row++) if (!allowed[codes[row]]) bits[row] |= bit;
    }
  });
  if (filter.terms.length > 0) {
    for (let row = 0; row < rows.count; row++)
      bits[row] |= bySet[rows.set[row]] | byThread[rows.thread[row]];
  }
  if (filter.time) {
    const [from, to] = filter.time;
    for (let row = 0; row < rows.count; row++) {
      const time = rows.time[row];
      if (time < from || time >= to) bits[row] |= TIME_BIT;
    }
  }
  failByStack(profile, filter.stack, bits, (inside) => !inside);
  failByStack(profile, filter.without, bits, (inside) => inside);
  return { bits, bitOf };
}

// Where two filters are one (both()), each has an expression of its own. What is no expression, or
// takes too long, was said where it was typed or read, and chooses nothing.
function failByStack(profile, texts, bits, fails) {
  for (const text of [texts].flat()) {
    if (!text) continue;
    const { matches } = matchingFunctions(profile, text);
    const inside = new Uint8Array(bits.length);
    if (matches) forMatchingRows(profile, matches, (first, last) => inside.fill(1, first, last));
    for (let row = 0; row < bits.length; row++)
      if (!matches || fails(inside[row] === 1)) bits[row] |= STACK_BIT;
  }
}

// The same filter with one value of a key put in or taken out.
export function withValue(filter, key, value, how) {
  const terms = filter.terms.map((term) => ({
    key: term.key,
    only: [...term.only],
    not: [...term.not],
  }));
  let term = terms.find((one) => one.key === key);
  if (!term) terms.push((term = { key, only: [], not: [] }));
  const other = how === "only" ? "not" : "only";
  term[other] = term[other].filter((one) => one !== value);
  term[how] = term[how].includes(value)
    ? term[how].filter((one) => one !== value)
    : [...term[how], value];
  return { ...filter, terms: terms.filter((one) => one.only.length + one.not.length > 0) };
}

export function withoutKey(filter, key) {
  return { ...filter, terms: filter.terms.filter((term) => term.key !== key) };
}

// What both demand.
export function both(a, b) {
  const terms = a.terms.map((term) => ({ ...term }));
  for (const term of b.terms) {
    const mine = terms.find((one) => one.key === term.key);
    if (!mine) {
      terms.push(term);
    } else {
      mine.only =
        mine.only.length === 0
          ? term.only
          : term.only.length === 0
            ? mine.only
            : nothingIsNothing(mine.only.filter((value) => term.only.includes(value)));
      mine.not = [...new Set([...mine.not, ...term.not])];
    }
  }
  const time =
    a.time && b.time
      ? [Math.max(a.time[0], b.time[0]), Math.min(a.time[1], b.time[1])]
      : (a.time ?? b.time);
  const joined = (name) => {
    const texts = [a[name], b[name]].flat().filter(Boolean);
    return texts.length > 1 ? texts : (texts[0] ?? "");
  };
  return { terms, time, stack: joined("stack"), without: joined("without") };
}

// No value can be both, and an empty list would allow all: this one is no value of any key. In
// JSON, which distinguishes filters, it is not null either, which stands for labels that are not
// there.
function nothingIsNothing(values) {
  return values.length > 0 ? values : [true];
}
