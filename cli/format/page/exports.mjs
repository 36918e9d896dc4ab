// Files made from the chosen rows: folded stacks, CSV, pprof. What they add up to is what is shown.
import { tokenText } from "./tree.mjs";

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
      (code, i) => `${groups[i].name}=${tokenText(groups[i].token(Number(code)))}`,
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

// A cell of RFC 4180. A spreadsheet would take =, +, - and @ in front for a formula.
function cell(value) {
  let text = String(value);
  if (/^[=+\-@\t\r]/.test(text) && typeof value !== "number") text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

// What weights are called where there is no room for words.
function weightColumn(profile) {
  const { unit = "nanoseconds" } = profile.facts;
  return unit === "nanoseconds" ? "time_ns" : unit;
}

// A line for each set of labels and function in which time was spent; a column for each key.
export function csvText(profile, slice) {
  const keys = [...profile.keys.values()];
  const codes = keys.map((key) => profile.codes(key));
  const sums = new Map();
  forChosen(slice, (row, weight, samples) => {
    const fn = profile.nodes.function[profile.rows.node[row]];
    const id = `${codes.map((code) => code[row]).join(",")},${fn}`;
    const sum = sums.get(id);
    if (sum) {
      sum[0] += weight;
      sum[1] += samples;
    } else {
      sums.set(id, [weight, samples]);
    }
  });
  const lines = [
    [weightColumn(profile), "samples", "function", "module", ...keys.map((key) => key.name)],
  ];
  for (const [id, [weight, samples]] of sums) {
    const parts = id.split(",").map(Number);
    const fn = parts.pop();
    lines.push([
      weight,
      samples,
      profile.functions.name(fn),
      profile.functions.module(fn),
      ...parts.map((code, i) => tokenText(keys[i].token(code))),
    ]);
  }
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
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

// Not compressed yet. A sample for each stack with its labels; our own keys are labels as well.
export function pprofBytes(profile, slice) {
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
  const mode = profile.facts.mode || "cpu";
  const measure = profile.facts.unit || "nanoseconds";
  const valueType = (type, unit) => new Message().number(1, string(type)).number(2, string(unit));
  top.message(1, valueType("samples", "count")).message(1, valueType(mode, measure));
  top
    .message(11, valueType(mode, measure))
    .number(12, profile.facts.period_ns ?? 0)
    .number(14, string(mode));

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
