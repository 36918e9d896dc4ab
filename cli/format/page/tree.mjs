// Trees to draw: the call tree under groups, upside down, or around one function. Only nodes that
// are wide enough to see are ever made, so no tree is too large.
//
// A box (node of such a tree) has one weight, or two where A and B are compared. Its
// `children(least)` are those of at least that size, the heaviest first, and one more box for the
// rest, which can be opened.

import { Slice } from "./slice.mjs";
import { EMPTY, UNREADABLE, UNSET, thousands } from "./text.mjs";

// What a size is measured by: the weight itself; compared, the mean of both shares.
export class Measure {
  constructor(slices) {
    this.slices = slices;
    this.wholes = slices.map((slice) => slice.weight);
    this.compares = slices.length === 2;
    this.whole = this.compares ? 1 : this.wholes[0];
  }
  size(weights) {
    if (!this.compares) return weights[0];
    return (this.share(weights, 0) + this.share(weights, 1)) / 2;
  }
  share(weights, index) {
    return this.wholes[index] > 0 ? weights[index] / this.wholes[index] : 0;
  }
}

// So many boxes stand for those of an "other" box of which none is wide enough to see.
const BUCKETS = 24;

const heaviestFirst = (a, b) => b.size - a.size || (a.key < b.key ? -1 : 1);

class Box {
  constructor(tree, parent, fields) {
    this.tree = tree;
    this.parent = parent;
    this.depth = parent === null ? 0 : parent.depth + 1;
    Object.assign(this, fields);
    this.size ??= tree.measure.size(this.weights);
    this.made = null;
    this.others = new Map();
    this.shown = [];
  }

  // { shown: [Box...], rest: Box of all others, or null }
  children(least) {
    if (this.kind === "other") return this.opened(least);
    if (this.made === null || this.made.least > least) this.made = this.make(least);
    let { boxes, hiddenSize, hiddenCount } = this.made;
    if (this.made.least < least) {
      const cut = boxes.findIndex((box) => box.size < least);
      if (cut >= 0) {
        hiddenCount += boxes.length - cut;
        hiddenSize += sizeOf(boxes.slice(cut));
        boxes = boxes.slice(0, cut);
      }
    }
    this.shown = boxes;
    const rest =
      hiddenCount > 0 ? this.other(boxes.length, undefined, hiddenSize, hiddenCount) : null;
    return { shown: boxes, rest };
  }

  make(least) {
    const boxes = [];
    let hiddenSize = this.size - this.tree.ownSize(this);
    let hiddenCount = 0;
    const ranks = [];
    let areAll = true;
    this.tree.expand(this, least, (fields) => {
      const size = fields === null ? -1 : this.tree.measure.size(fields.weights);
      if (size === 0) return;
      if (fields === null) areAll = false;
      else ranks.push({ fields, size, key: fields.key });
      if (size < least) {
        hiddenCount += 1;
        return;
      }
      boxes.push(new Box(this.tree, this.owner ?? this, fields));
      hiddenSize -= size;
    });
    boxes.sort(heaviestFirst);
    if (areAll) this.ranks = ranks.sort(heaviestFirst);
    return { least, boxes, hiddenSize, hiddenCount };
  }

  // What all children are made of, the heaviest first.
  ranked() {
    if (this.ranks) return this.ranks;
    this.ranks = [];
    this.tree.expand(this, 0, (fields) => {
      const size = this.tree.measure.size(fields.weights);
      if (size > 0) this.ranks.push({ fields, size, key: fields.key });
    });
    this.ranks.sort(heaviestFirst);
    return this.ranks;
  }

  // The box of all children from one rank on, or up to another one: those that are too narrow to
  // see. Where it is opened, it has the whole width.
  other(from, to, size, count) {
    const base = this.kind === "other" ? this.base : this;
    const key = `~${from}-${to ?? ""}`;
    const known = this.others.get(key);
    if (known) return known;
    const ranks = size === undefined ? base.ranked().slice(from, to) : null;
    if (ranks?.length === 0) return undefined;
    const made = new Box(this.tree, this, {
      kind: "other",
      key,
      base,
      from,
      to,
      slices: base.slices,
      size: size ?? sizeOf(ranks),
      count: count ?? ranks.length,
    });
    this.others.set(key, made);
    return made;
  }

  // What all values of an "other" box have below them together, as long as it is not opened. Null
  // where its boxes are no values: stacks of different functions have nothing in common.
  pool() {
    if (this.pooled !== undefined) return this.pooled;
    const ranks = this.base.ranked().slice(this.from, this.to);
    this.pooled = null;
    if (!ranks.every(({ fields }) => fields.kind === "group")) return null;
    const { groupKey, level } = ranks[0].fields;
    const mask = new Uint8Array(groupKey.codeCount);
    for (const { fields } of ranks) mask[fields.code] = 1;
    const codes = this.tree.profile.codes(groupKey);
    const slices = this.base.slices.map((slice) => slice.only(codes, mask));
    this.pooled = new Box(this.tree, this.parent, {
      kind: "pool",
      key: this.key,
      owner: this,
      level,
      node: 0,
      slices,
      weights: slices.map((slice) => slice.weight),
    });
    return this.pooled;
  }

  opened(least) {
    const ranks = this.base.ranked().slice(this.from, this.to);
    const visible = ranks.findIndex((one) => one.size < least);
    if (visible === 0 && ranks.length > BUCKETS) {
      const step = Math.ceil(ranks.length / BUCKETS);
      this.shown = [];
      for (let at = 0; at < ranks.length; at += step) {
        const part = ranks.slice(at, at + step);
        const from = this.from + at;
        this.shown.push(this.other(from, from + part.length, sizeOf(part), part.length));
      }
      return { shown: this.shown, rest: null };
    }
    const cut = visible < 0 ? ranks.length : Math.max(visible, 1);
    this.boxes ??= new Map();
    this.shown = ranks.slice(0, cut).map(({ fields }) => {
      if (!this.boxes.has(fields.key)) this.boxes.set(fields.key, new Box(this.tree, this, fields));
      return this.boxes.get(fields.key);
    });
    const hidden = ranks.slice(cut);
    const rest =
      hidden.length === 0
        ? null
        : this.other(this.from + cut, this.to, sizeOf(hidden), hidden.length);
    return { shown: this.shown, rest };
  }

  // Samples, or null where they are not known.
  get counts() {
    if (this.knownCounts) return this.knownCounts;
    if (this.kind !== "function" || this.node === undefined) return null;
    const { nodes, rows } = this.tree.profile;
    return this.slices.map((slice) =>
      slice.countOf(rows.firstRow[this.node], rows.firstRow[nodes.end[this.node]]),
    );
  }

  child(key) {
    const range = /^~(\d{1,9})-(\d{0,9})$/.exec(key);
    if (range) return this.other(Number(range[1]), range[2] ? Number(range[2]) : undefined);
    const named = (box) => box.key === key;
    const found = this.shown.find(named) ?? this.children(0).shown.find(named);
    return found ?? (this.kind === "other" ? this.pool()?.child(key) : undefined);
  }

  get path() {
    return this.parent === null ? [] : [...this.parent.path, this.key];
  }
}

function sizeOf(items) {
  return items.reduce((sum, { size }) => sum + size, 0);
}

// Boxes of kind "group": rows with one value of a key.
function expandGroup(tree, box, level, emit) {
  const key = tree.groups[level];
  const codes = tree.profile.codes(key);
  const parts = box.slices.map((slice) => slice.split(codes, key.codeCount));
  const present = new Set(parts.flatMap((part) => [...part.keys()]));
  const none = emptySlice(tree.profile);
  for (const code of present) {
    const slices = parts.map((part) => part.get(code) ?? none);
    emit({
      kind: "group",
      key: `${level}:${code}`,
      groupKey: key,
      code,
      level: level + 1,
      node: 0,
      slices,
      weights: slices.map((slice) => slice.weight),
      knownCounts: slices.map((slice) => slice.count),
    });
  }
}

function emptySlice(profile) {
  return new Slice(profile, new Uint32Array(0), 0, 0, new Float64Array(1), new Float64Array(1));
}

const functionBox = (fn, fields) => ({ kind: "function", key: `f${fn}`, function: fn, ...fields });

// The call tree: groups (if at the root), then functions as they called each other, then groups
// (if they are leaves).
export class CallTree {
  constructor(profile, slices, { groups = [], leaves = false } = {}) {
    this.profile = profile;
    this.measure = new Measure(slices);
    this.groups = groups;
    this.leaves = leaves;
    this.root = new Box(this, null, {
      kind: "root",
      key: "",
      level: 0,
      node: 0,
      slices,
      weights: this.measure.wholes,
      knownCounts: slices.map((slice) => slice.count),
    });
  }

  ownSize(box) {
    if (box.kind === "leaf") return box.level < this.groups.length ? 0 : box.size;
    if (box.kind !== "function" || (this.leaves && this.groups.length > 0)) return 0;
    const { firstRow } = this.profile.rows;
    return this.measure.size(
      box.slices.map((slice) => slice.weightOf(firstRow[box.node], firstRow[box.node + 1])),
    );
  }

  expand(box, least, emit) {
    if (box.kind === "leaf") {
      if (box.level < this.groups.length) this.expandLeaf(box, emit);
      return;
    }
    if (!this.leaves && box.level < this.groups.length) {
      expandGroup(this, box, box.level, emit);
      return;
    }
    const { nodes, rows } = this.profile;
    const { firstRow, before } = rows;
    const { slices, level } = box;
    // A node that is too small in the whole profile is too small in every part of it.
    const enough = this.measure.compares ? 0 : least;
    for (let node = box.node + 1; node < nodes.end[box.node]; node = nodes.end[node]) {
      const first = firstRow[node];
      const last = firstRow[nodes.end[node]];
      if (before[last] - before[first] < enough) {
        if (slices.some((slice) => slice.weightOf(first, last) > 0)) emit(null);
        continue;
      }
      emit(
        functionBox(nodes.function[node], {
          node,
          level,
          slices,
          weights: slices.map((slice) => slice.weightOf(first, last)),
        }),
      );
    }
    if (this.leaves && this.groups.length > 0 && box.kind === "function")
      this.expandLeaf(box, emit);
  }

  // The rows that end in a function, by the values of the next key.
  expandLeaf(box, emit) {
    const level = box.kind === "leaf" ? box.level : 0;
    const key = this.groups[level];
    const codes = this.profile.codes(key);
    const { firstRow } = this.profile.rows;
    const sums = new Map();
    box.slices.forEach((slice, index) => {
      slice.forRows(firstRow[box.node], firstRow[box.node + 1], (row, weight, count) => {
        if (box.within && !box.within(row)) return;
        let sum = sums.get(codes[row]);
        if (!sum)
          sums.set(
            codes[row],
            (sum = { weights: box.weights.map(() => 0), counts: box.weights.map(() => 0) }),
          );
        sum.weights[index] += weight;
        sum.counts[index] += count;
      });
    });
    for (const [code, sum] of sums) {
      emit({
        kind: "leaf",
        key: `${level}:${code}`,
        groupKey: key,
        code,
        level: level + 1,
        node: box.node,
        slices: box.slices,
        weights: sum.weights,
        knownCounts: sum.counts,
        within: (row) => codes[row] === code && (!box.within || box.within(row)),
      });
    }
  }
}

// Nodes with what each of them weighs, by function.
class Entries {
  constructor(slices) {
    this.slices = slices;
    this.byFunction = new Map();
  }
  // `weights`: by slice. A node that is added twice is there twice.
  add(fn, node, weights) {
    const entry = this.entry(fn);
    entry.nodes.push(node);
    for (let i = 0; i < weights.length; i++) {
      entry.parts[i].push(weights[i]);
      entry.weights[i] += weights[i];
    }
  }
  // The same for one slice, where the others have nothing: there may be a million of these.
  addTo(fn, node, index, weight) {
    const entry = this.entry(fn);
    entry.nodes.push(node);
    for (let i = 0; i < entry.parts.length; i++) entry.parts[i].push(i === index ? weight : 0);
    entry.weights[index] += weight;
  }
  entry(fn) {
    let entry = this.byFunction.get(fn);
    if (!entry) {
      entry = { nodes: [], parts: this.slices.map(() => []), weights: this.slices.map(() => 0) };
      this.byFunction.set(fn, entry);
    }
    return entry;
  }
  emit(fields, emit) {
    for (const [fn, entry] of this.byFunction) {
      emit(functionBox(fn, { ...fields, ...entry, slices: this.slices }));
    }
  }
}

function runsByNode(profile, slices, each) {
  slices.forEach((slice, index) => {
    for (let at = slice.from; at < slice.to;) {
      const node = profile.rows.node[slice.rows === null ? at : slice.rows[at]];
      const stop = slice.position(profile.rows.firstRow[node + 1]);
      const weight = slice.weights[stop] - slice.weights[at];
      if (weight > 0) each(node, index, weight);
      at = stop;
    }
  });
}

// Of a box of callers, what came through nodes that nobody called.
function rootSize(tree, box) {
  const { parent } = tree.profile.nodes;
  return box.nodes.reduce(
    (sum, node, i) =>
      sum + (parent[node] === 0 ? tree.measure.size(box.parts.map((part) => part[i])) : 0),
    0,
  );
}

// From a function to those that called it. Each box knows the nodes that it stands for, and how
// much of its weight came through each of them.
function expandCallers(tree, box, emit) {
  const { nodes } = tree.profile;
  const entries = new Entries(box.slices);
  for (let i = 0; i < box.nodes.length; i++) {
    const parent = nodes.parent[box.nodes[i]];
    if (parent === 0) continue;
    for (let slice = 0; slice < box.parts.length; slice++) {
      if (box.parts[slice][i] > 0)
        entries.addTo(nodes.function[parent], parent, slice, box.parts[slice][i]);
    }
  }
  entries.emit({ level: box.level }, emit);
}

// The call tree upside down: at the root the functions in which the time was spent.
export class InvertedTree {
  constructor(profile, slices, { groups = [] } = {}) {
    this.profile = profile;
    this.measure = new Measure(slices);
    this.groups = groups;
    this.root = new Box(this, null, {
      kind: "root",
      key: "",
      level: 0,
      slices,
      weights: this.measure.wholes,
      knownCounts: slices.map((slice) => slice.count),
    });
  }
  // What ended in the function that a stack began with.
  ownSize(box) {
    return box.kind === "function" ? rootSize(this, box) : 0;
  }
  expand(box, least, emit) {
    if (box.kind === "function") {
      expandCallers(this, box, emit);
    } else if (box.level < this.groups.length) {
      expandGroup(this, box, box.level, emit);
    } else {
      const entries = new Entries(box.slices);
      runsByNode(this.profile, box.slices, (node, index, weight) => {
        entries.addTo(this.profile.nodes.function[node], node, index, weight);
      });
      entries.emit({ level: box.level }, emit);
    }
  }
}

// One function with its callers or its callees; its outermost calls are the root.
export class FunctionTree {
  constructor(profile, slices, fn, direction) {
    this.profile = profile;
    this.measure = new Measure(slices);
    this.direction = direction;
    const { nodes, rows } = profile;
    const found = [];
    const parts = slices.map(() => []);
    const weights = slices.map(() => 0);
    for (let node = 1; node < nodes.count; node++) {
      if (nodes.function[node] !== fn || nodes.repeated[node]) continue;
      const part = slices.map((slice) =>
        slice.weightOf(rows.firstRow[node], rows.firstRow[nodes.end[node]]),
      );
      if (!part.some((weight) => weight > 0)) continue;
      found.push(node);
      part.forEach((weight, i) => {
        parts[i].push(weight);
        weights[i] += weight;
      });
    }
    this.root = new Box(
      this,
      null,
      functionBox(fn, { level: 0, slices, nodes: found, parts, weights }),
    );
  }
  ownSize(box) {
    if (this.direction === "callers") return rootSize(this, box);
    const { firstRow } = this.profile.rows;
    const own = box.slices.map((slice) =>
      box.nodes.reduce((sum, node) => sum + slice.weightOf(firstRow[node], firstRow[node + 1]), 0),
    );
    return this.measure.size(own);
  }
  expand(box, least, emit) {
    if (this.direction === "callers") {
      expandCallers(this, box, emit);
      return;
    }
    const { nodes, rows } = this.profile;
    const entries = new Entries(box.slices);
    for (const from of box.nodes) {
      for (let node = from + 1; node < nodes.end[from]; node = nodes.end[node]) {
        const weights = box.slices.map((slice) =>
          slice.weightOf(rows.firstRow[node], rows.firstRow[nodes.end[node]]),
        );
        if (weights.some((weight) => weight > 0)) entries.add(nodes.function[node], node, weights);
      }
    }
    entries.emit({ level: 0 }, emit);
  }
}

// What a box is called: "main", "tenant=acme".
export function boxName(profile, box) {
  if (box.kind === "root") return "all";
  if (box.kind === "other") return `other (${thousands(box.count)})`;
  if (box.kind === "function") return profile.functions.name(box.function);
  return `${box.groupKey.name}=${valueText(box.groupKey, box.code)}`;
}

// Values of our own are in parentheses, so one of the target that looks like them is in quotes.
export function valueText(key, code) {
  return tokenText(key.token(code));
}
export function tokenText(token) {
  if (token === null) return UNSET;
  if (token === false) return UNREADABLE;
  if (token === "") return EMPTY;
  return token.startsWith("(") ? `"${token}"` : token;
}

// The chosen rows that have this function on their stack: a mask for failedBits() and the like.
export function rowsOfFunction(profile, fn) {
  const { nodes, rows } = profile;
  const inside = new Uint8Array(rows.count);
  for (let node = 1; node < nodes.count; node++) {
    if (nodes.function[node] === fn && !nodes.repeated[node]) {
      inside.fill(1, rows.firstRow[node], rows.firstRow[nodes.end[node]]);
    }
  }
  return inside;
}

// How likely a difference of two shares is chance: in standard errors of the counts. Samples are
// independent, so counts are as uncertain as Poisson's.
export function standardErrors(counts, wholes) {
  const [a, b] = counts;
  const [wholeA, wholeB] = wholes;
  if (wholeA === 0 || wholeB === 0) return 0;
  const variance = (part, whole) => ((part + 1) * (whole - part + 1)) / whole ** 3;
  return (b / wholeB - a / wholeA) / Math.sqrt(variance(a, wholeA) + variance(b, wholeB));
}
