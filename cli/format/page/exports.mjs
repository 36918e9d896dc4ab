// Files made from the chosen rows: folded stacks, CSV, pprof. What they add up to is what is shown.

// A label's value, as all files of labelscope name it.
function fileValue(token) {
  if (token === null) return "<none>";
  return token === false ? "<unreadable>" : token || "<empty>";
}

// Calls back with (row, weight, samples) for each chosen row.
function forChosen(slice, each) {
  slice.forRows(0, slice.profile.rows.count, each);
}

function stackOf(profile, node) {
  const functions = [];
  for (; node !== 0; node = profile.nodes.parent[node])
    functions.push(profile.nodes.function[node]);
  return functions; // leaf first
}

const foldedFrame = (text) => text.replace(/;/g, "\\x3b").replace(/^ | $/g, "\\x20") || "<empty>";

// One line for each stack, groups in front: "tenant=acme;main;work 1200000".
export function foldedText(profile, slice, groups) {
  const codes = groups.map((key) => profile.codes(key));
  const sums = new Map();
  forChosen(slice, (row, weight) => {
    const id = `${codes.map((code) => code[row]).join(",")};${profile.rows.node[row]}`;
    sums.set(id, (sums.get(id) ?? 0) + weight);
  });
  const lines = new Map();
  for (const [id, weight] of sums) {
    const [prefix, node] = id.split(";");
    const values = prefix === "" ? [] : prefix.split(",");
    const frames = values.map(
      (code, i) => `${groups[i].name}=${fileValue(groups[i].token(Number(code)))}`,
    );
    for (const fn of stackOf(profile, Number(node)).reverse()) {
      frames.push(profile.functions.name(fn) + (profile.functions.kind[fn] === 1 ? "_[k]" : ""));
    }
    const line = frames.map(foldedFrame).join(";");
    lines.set(line, (lines.get(line) ?? 0) + weight);
  }
  return [...lines]
    .map(([line, weight]) => `${line} ${weight}\n`)
    .sort()
    .join("");
}

// A cell of RFC 4180, as csv.cc of labelscope makes it: a spreadsheet would take =, +, - and @ in
// front, also in their East Asian width, for a formula, and may begin a new cell at ";".
function cell(value) {
  let text = value === "" ? "" : foldedFrame(String(value));
  if (/^[=+\-@'\uff0b\uff0d\uff1d\uff20]/.test(text)) text = `'${text}`;
  return /[",]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const OWN_OF_THREAD = ["comm", "pid", "thread_name", "thread_id"];
const OWN_COLUMNS = ["function", "module", "stack_end", "outcome", ...OWN_OF_THREAD];

function columnNames({ facts }, labels) {
  const { unit = "nanoseconds", mode = "cpu", counted = "samples" } = facts;
  let amount = unit === "nanoseconds" ? "time_ns" : foldedFrame(`${mode}_${unit}`);
  if (OWN_COLUMNS.includes(amount)) amount = `value.${amount}`;
  let count = foldedFrame(counted);
  if (OWN_COLUMNS.includes(count) || count === amount) count = `count.${count}`;
  const names = [amount, count, ...OWN_COLUMNS];
  for (const { name } of labels) {
    let title = foldedFrame(name);
    while (names.includes(title)) title = `label.${title}`;
    names.push(title);
  }
  return names;
}

// As labelscope writes -o X.csv: a line for each function, label set and thread.
export function csvText(profile, slice) {
  const { rows, nodes, functions, keys } = profile;
  const labels = [...keys.values()].filter((key) => !key.own);
  labels.sort((a, b) => (a.name < b.name ? -1 : 1));
  const codes = labels.map((key) => profile.codes(key));
  const ofThread = (name, thread) => {
    const key = keys.get(name);
    return key?.byThread ? (key.token(key.byThread[thread]) ?? "") : "";
  };
  const texts = new Map(); // of a set and a thread, which many rows share
  const labelCells = (row) => {
    const id = `${rows.set[row]},${rows.thread[row]}`;
    if (!texts.has(id)) {
      const parts = OWN_OF_THREAD.map((name) => ofThread(name, rows.thread[row]));
      parts.push(...labels.map((key, i) => fileValue(key.token(codes[i][row]))));
      texts.set(id, [profile.outcomeName(rows.set[row]), ...parts].map(cell).join(","));
    }
    return texts.get(id);
  };
  const sums = new Map();
  forChosen(slice, (row, weight, samples) => {
    const fn = nodes.function[rows.node[row]];
    const stack = [functions.name(fn), functions.module(fn), profile.stackEnd(rows.stack[row])];
    const text = `${stack.map(cell).join(",")},${labelCells(row)}`;
    const sum = sums.get(text) ?? [0, 0];
    sums.set(text, [sum[0] + weight, sum[1] + samples]);
  });
  const lines = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  const head = columnNames(profile, labels).map(cell).join(",");
  const body = lines.map(([text, [weight, samples]]) => `${weight},${samples},${text}`);
  return [head, ...body].map((line) => `${line}\r\n`).join("");
}

// A protobuf message: fields of varints and of bytes (profile.proto of google/pprof).
class Message {
  constructor() {
    this.bytes = [];
  }
  varint(value) {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.bytes.push((rest % 128) | 128);
    this.bytes.push(rest);
    return this;
  }
  number(field, value) {
    return value === 0 ? this : this.varint(field << 3).varint(value);
  }
  block(field, bytes) {
    this.varint((field << 3) | 2).varint(bytes.length);
    for (let i = 0; i < bytes.length; i++) this.bytes.push(bytes[i]);
    return this;
  }
  message(field, message) {
    return this.block(field, message.bytes);
  }
  packed(field, values) {
    const inner = new Message();
    for (const value of values) inner.varint(value);
    return this.message(field, inner);
  }
}

// What pprof has no field for, as labelscope writes it (`go tool pprof -comments`). `part`: what
// was chosen of the recording; empty: all of it.
function commentsOf(facts, part) {
  const lines = [
    ["labelscope", facts.version],
    ["command", facts.command],
    ["event", facts.event],
    ["mode", facts.unit === "nanoseconds" ? facts.mode : `${facts.mode}/${facts.unit}`],
    ["backend", facts.backend],
    ["call graph", facts.call_graph],
    ["kernel", facts.kernel],
    ["part", facts.part],
    ["part", part],
    ["ledger", part === "" ? facts.ledger_line : ""],
    ...(facts.processes ?? []).flatMap(({ pid, attributes }) =>
      attributes.map((one) => [`attribute of process ${pid}`, one]),
    ),
  ];
  return lines.filter(([, text]) => text).map(([name, text]) => `${name}: ${text}`);
}

// Not compressed yet. A sample for each stack with its labels; our own keys are labels as well.
export function pprofBytes(profile, slice, part = "") {
  const strings = new Map([["", 0]]);
  const string = (text) => {
    if (!strings.has(text)) strings.set(text, strings.size);
    return strings.get(text);
  };
  const top = new Message();
  const pieces = [];
  const flush = () => {
    pieces.push(Uint8Array.from(top.bytes));
    top.bytes.length = 0;
  };
  const { facts } = profile;
  const mode = facts.mode || "cpu";
  const measure = facts.unit || "nanoseconds";
  const valueType = (type, unit) => new Message().number(1, string(type)).number(2, string(unit));
  top.message(1, valueType(facts.counted || "samples", "count"));
  top.message(1, valueType(mode, measure));
  top.number(9, (facts.start_unix_ms ?? 0) * 1e6).number(10, facts.duration_ns ?? 0);
  top.message(11, valueType(mode, measure));
  top.number(12, facts.period_ns ?? 0);
  for (const line of commentsOf(facts, part)) top.number(13, string(line));
  top.number(14, string(mode));

  const { rows } = profile;
  const sums = new Map();
  forChosen(slice, (row, weight, samples) => {
    const id = `${rows.node[row]},${rows.set[row]},${rows.thread[row]}`;
    const sum = sums.get(id);
    if (sum) {
      sum[1] += weight;
      sum[2] += samples;
    } else {
      sums.set(id, [row, weight, samples]);
    }
  });
  const keys = [...profile.keys.values()];
  const codes = keys.map((key) => profile.codes(key));
  const used = new Set();
  for (const [row, weight, samples] of sums.values()) {
    const sample = new Message();
    const stack = stackOf(profile, rows.node[row]);
    for (const fn of stack) used.add(fn);
    sample
      .packed(
        1,
        stack.map((fn) => fn + 1),
      )
      .packed(2, [samples, weight]);
    keys.forEach((key, i) => {
      const token = key.token(codes[i][row]);
      if (typeof token !== "string") return;
      const label = new Message().number(1, string(key.name));
      const numeric =
        key.own && /^\d{1,15}$/.test(token) && (key.name === "pid" || key.name === "thread_id");
      if (numeric) label.number(3, Number(token));
      else label.number(2, string(token === "" ? "<empty>" : token));
      sample.message(3, label);
    });
    top.message(2, sample);
    if (top.bytes.length > 1 << 18) flush();
  }
  const modules = new Map();
  for (const fn of used) {
    const module = profile.functions.module(fn);
    if (module !== "" && !modules.has(module)) modules.set(module, modules.size + 1);
    const location = new Message().number(1, fn + 1).number(2, modules.get(module) ?? 0);
    top.message(4, location.message(4, new Message().number(1, fn + 1)));
    top.message(
      5,
      new Message()
        .number(1, fn + 1)
        .number(2, string(profile.functions.name(fn)))
        .number(3, string(profile.functions.name(fn)))
        .number(4, string(profile.functions.file(fn))),
    );
    if (top.bytes.length > 1 << 18) flush();
  }
  for (const [module, id] of modules) {
    top.message(3, new Message().number(1, id).number(5, string(module)).number(7, 1));
  }
  const encoder = new TextEncoder();
  for (const text of strings.keys()) {
    top.block(6, encoder.encode(text));
    if (top.bytes.length > 1 << 18) flush();
  }
  flush();
  return new Blob(pieces);
}

export function compressed(blob) {
  return new Response(blob.stream().pipeThrough(new CompressionStream("gzip"))).blob();
}
