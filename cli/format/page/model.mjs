// The profile, in the order that makes every question one pass.
//
// The stacks are a tree whose nodes are numbered in preorder, and the rows (samples) are sorted by
// the node in which their stack ends. So the rows below a node are neighbours:
//
//     node   0 all              rows of node n itself:  firstRow[n] .. firstRow[n + 1]
//            1   main           rows at and below it:   firstRow[n] .. firstRow[end[n]]
//            2     parse
//            3       read       With running sums over the rows, the weight of any node is one
//            4     serve        subtraction, whatever was filtered away.
//
// A key (label or our own) gives each row a code: 0 unset, 1 unreadable, from 2 on its values.

export const CODE_UNSET = 0;
export const CODE_UNREADABLE = 1;
const FIRST_VALUE = 2;
const UNREADABLE_ABOVE = 1; // outcomes 0 and 1 are labelled and unlabelled
export const NO_TIME = 0xffffffff;
const KEPT_COLUMNS = 16;

// Parents, ends, and which nodes lie below another one of the same function.
function readTree(columns) {
  const depths = columns["node.depth"];
  const count = depths.length + 1;
  const functions = new Uint32Array(count);
  functions.set(columns["node.function"], 1);
  const parent = new Uint32Array(count);
  const end = new Uint32Array(count).fill(count);
  const repeated = new Uint8Array(count);
  const open = [0];
  const onPath = new Uint32Array(columns["function.name"].length);
  for (let node = 1; node < count; node++) {
    const depth = depths[node - 1];
    while (open.length > depth) {
      const closed = open.pop();
      end[closed] = node;
      onPath[functions[closed]] -= 1;
    }
    parent[node] = open[open.length - 1];
    repeated[node] = onPath[functions[node]] > 0 ? 1 : 0;
    onPath[functions[node]] += 1;
    open.push(node);
  }
  return { count, parent, end, repeated, function: functions };
}

// The rows sorted by node. Those with times are in the order of time within a node.
function readRows(columns, nodes) {
  const stackNode = columns["stack.node"];
  const stack = columns["sample.stack"];
  const count = stack.length;
  const firstRow = new Uint32Array(nodes + 1);
  for (let i = 0; i < count; i++) firstRow[stackNode[stack[i]] + 1] += 1;
  for (let node = 0; node < nodes; node++) firstRow[node + 1] += firstRow[node];
  const next = firstRow.slice();
  const rows = {
    count,
    firstRow,
    node: new Uint32Array(count),
    set: new Uint32Array(count),
    thread: new Uint32Array(count),
    stack: new Uint32Array(count),
    time: new Uint32Array(count),
    weight: new Float64Array(count),
    samples: new Float64Array(count),
  };
  const deltas = columns["sample.time"];
  let time = 0;
  for (let i = 0; i < count; i++) {
    const node = stackNode[stack[i]];
    const row = next[node]++;
    if (i < deltas.length) time += deltas[i];
    rows.node[row] = node;
    rows.stack[row] = stack[i];
    rows.set[row] = columns["sample.set"][i];
    rows.thread[row] = columns["sample.thread"][i];
    rows.time[row] = i < deltas.length ? time : NO_TIME;
    rows.weight[row] = columns["sample.weight"][i];
    rows.samples[row] = columns["sample.count"][i];
  }
  rows.before = new Float64Array(count + 1); // the weight of all rows before a row
  for (let row = 0; row < count; row++) rows.before[row + 1] = rows.before[row] + rows.weight[row];
  rows.timed = deltas.length;
  rows.lastTime = time;
  return rows;
}

// A key with its values; codes by set, by thread, or both.
class Key {
  constructor(name, own) {
    this.name = name;
    this.own = own; // not a label, but known of every thread
    this.values = [];
    this.bySet = null;
    this.byThread = null;
    this.codes = new Map();
  }
  intern(value) {
    let code = this.codes.get(value);
    if (code === undefined) {
      code = this.values.length + FIRST_VALUE;
      this.values.push(value);
      this.codes.set(value, code);
    }
    return code;
  }
  get codeCount() {
    return this.values.length + FIRST_VALUE;
  }
  // A value as filters and links name it: a string, null (unset) or false (unreadable).
  token(code) {
    if (code === CODE_UNSET) return null;
    return code === CODE_UNREADABLE ? false : this.values[code - FIRST_VALUE];
  }
  codeOf(token) {
    if (token === null) return CODE_UNSET;
    return token === false ? CODE_UNREADABLE : this.codes.get(token);
  }
}

function readKeys(columns, sets) {
  const { strings } = columns;
  const keys = new Map();
  const key = (name, own) => {
    if (!keys.has(name)) keys.set(name, new Key(name, own));
    return keys.get(name);
  };
  const setCount = columns["set.size"].length;
  let label = 0;
  const names = new Set();
  for (const number of columns["label.key"]) names.add(number);
  for (const number of names) key(strings[number], false).bySet = new Uint32Array(setCount);
  for (let set = 0; set < setCount; set++) {
    const unreadable = sets.outcome[set] > UNREADABLE_ABOVE;
    if (unreadable) for (const one of keys.values()) one.bySet[set] = CODE_UNREADABLE;
    for (const last = label + columns["set.size"][set]; label < last; label++) {
      const one = keys.get(strings[columns["label.key"][label]]);
      if (one.bySet[set] < FIRST_VALUE)
        one.bySet[set] = one.intern(strings[columns["label.value"][label]]);
    }
  }
  const usedThreads = new Uint8Array(columns["thread.pid"].length);
  for (const thread of columns["sample.thread"]) usedThreads[thread] = 1;
  const anyUnreadable = sets.outcome.some((outcome) => outcome > UNREADABLE_ABOVE);
  const own = (name, text) => {
    const one = key(name, true);
    one.byThread = new Uint32Array(usedThreads.length);
    for (let thread = 0; thread < usedThreads.length; thread++) {
      const value = text(thread);
      if (value !== "") one.byThread[thread] = one.intern(value);
    }
    // Without a thread name of an unreadable sample, it is not known whether a label named one.
    if (
      one.bySet === null &&
      anyUnreadable &&
      usedThreads.some((used, thread) => used && one.byThread[thread] === CODE_UNSET)
    ) {
      one.bySet = Uint32Array.from(sets.outcome, (outcome) =>
        outcome > UNREADABLE_ABOVE ? CODE_UNREADABLE : CODE_UNSET,
      );
    }
  };
  const number = (name) => (thread) => (thread === 0 ? "" : String(columns[name][thread]));
  const string = (name) => (thread) => strings[columns[name][thread]];
  own("comm", string("thread.comm"));
  own("thread_name", string("thread.name"));
  own("thread_id", number("thread.tid"));
  own("pid", number("thread.pid"));
  if (anyUnreadable && !keys.has("labelscope.outcome")) {
    const one = key("labelscope.outcome", true);
    one.bySet = new Uint32Array(setCount);
    for (let set = 0; set < setCount; set++) {
      if (sets.outcome[set] <= UNREADABLE_ABOVE) continue;
      const name = columns["outcome.name"][sets.outcome[set]];
      one.bySet[set] = one.intern(
        name === undefined ? `outcome ${sets.outcome[set]}` : strings[name],
      );
    }
  }
  // A pprof file of another tool knows no threads: keys without any value say nothing.
  for (const [name, { values }] of keys) if (values.length === 0) keys.delete(name);
  return keys;
}

export class Profile {
  constructor(columns, facts = {}) {
    const strings = columns.strings;
    this.facts = facts;
    this.tick = facts.tick_ns ?? 0;
    // Only what was sampled has errors by chance.
    this.sampled = (facts.counted ?? "samples") === "samples";
    this.functions = {
      count: columns["function.name"].length,
      name: (f) => strings[columns["function.name"][f]],
      file: (f) => strings[columns["function.file"][f]],
      module: (f) => strings[columns["function.module"][f]],
      kind: columns["function.kind"],
    };
    this.nodes = readTree(columns);
    this.rows = readRows(columns, this.nodes.count);
    // As long as the recording, also where nothing ran at its end.
    const length = this.tick > 0 ? Math.ceil((facts.duration_ns ?? 0) / this.tick) : 0;
    this.rows.ticks = Math.max(this.rows.lastTime + 1, length);
    this.outcomeName = (set) => strings[columns["outcome.name"][columns["set.outcome"][set]]] ?? "";
    this.stackEnd = (stack) => strings[columns["stack.end"][stack]];
    this.sets = {
      count: columns["set.size"].length,
      outcome: columns["set.outcome"],
      kind: (set) => strings[columns["set.kind"][set]],
    };
    this.threads = { count: columns["thread.pid"].length };
    this.keys = readKeys(columns, this.sets);
    this.columns = new Map();
  }

  // The code of each row for this key.
  codes(key) {
    let codes = this.columns.get(key.name);
    if (codes) return codes;
    const { count, set, thread } = this.rows;
    codes = new Uint32Array(count);
    const { bySet, byThread } = key;
    for (let row = 0; row < count; row++)
      codes[row] = codeAt(bySet, byThread, set[row], thread[row]);
    if (this.columns.size >= KEPT_COLUMNS) this.columns.delete(this.columns.keys().next().value);
    this.columns.set(key.name, codes);
    return codes;
  }
}

// A label counts before our own value of the same name.
function codeAt(bySet, byThread, set, thread) {
  const code = bySet === null ? CODE_UNSET : bySet[set];
  if (byThread === null || code >= FIRST_VALUE) return code;
  const own = byThread[thread];
  return own >= FIRST_VALUE ? own : code;
}
