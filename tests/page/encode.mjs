// Pages made by hand: the other side of decode.mjs, written from the description in
// cli/format/page/page_columns.cc and not from its code.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

export const PAGE = join(dirname(fileURLToPath(import.meta.url)), "../../cli/format/page");

function varints(numbers) {
  const bytes = [];
  for (const number of numbers) {
    let rest = number;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
  }
  return Buffer.from(bytes);
}

// Always the same numbers: a failure can be repeated.
export function numbers(seed) {
  let state = seed * 2654435761 + 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

// A small profile: samples are { stack: ["main", "work"], labels: { tenant: "acme" }, weight,
// count,
// time, thread, outcome }; stacks root first; a function may be { name, file, module, kind }.
export class ProfileText {
  constructor() {
    this.strings = [""];
    this.functions = [];
    this.nodes = [];
    this.threads = [{ pid: 0, tid: 0, name: "", comm: "" }];
    this.samples = [];
  }
  string(text) {
    let at = this.strings.indexOf(text);
    if (at < 0) at = this.strings.push(text) - 1;
    return at;
  }
  thread(pid, tid, name, comm) {
    return this.threads.push({ pid, tid, name, comm }) - 1;
  }
  sample(stack, labels = {}, more = {}) {
    this.samples.push({
      stack,
      labels,
      weight: 1000,
      count: 1,
      thread: 0,
      outcome: Object.keys(labels).length > 0 ? 0 : 1,
      ...more,
    });
    return this;
  }

  sections() {
    const functionIds = new Map();
    const functions = [];
    const functionOf = (given) => {
      const fn = typeof given === "string" ? { name: given, file: "", module: "", kind: 0 } : given;
      const id = JSON.stringify(fn);
      if (!functionIds.has(id)) functionIds.set(id, functions.push(fn) - 1);
      return functionIds.get(id);
    };
    const root = { children: new Map() };
    const ends = this.samples.map(({ stack }) => {
      let node = root;
      for (const given of stack) {
        const fn = functionOf(given);
        if (!node.children.has(fn)) node.children.set(fn, { fn, children: new Map() });
        node = node.children.get(fn);
      }
      return node;
    });
    const depths = [];
    const nodeFunctions = [];
    let places = 0;
    const waiting = [[root, 0]];
    while (waiting.length > 0) {
      const [node, depth] = waiting.pop();
      node.place = places++;
      if (depth > 0) {
        depths.push(depth);
        nodeFunctions.push(node.fn);
      }
      for (const child of [...node.children.values()].reverse()) waiting.push([child, depth + 1]);
    }
    const rows = this.samples.map((sample, i) => ({ ...sample, place: ends[i].place }));
    const timed = rows.filter((row) => row.time !== undefined).sort((a, b) => a.time - b.time);
    const ordered = [...timed, ...rows.filter((row) => row.time === undefined)];
    const stacks = [...new Set(ordered.map((row) => row.place))];
    const setIds = new Map();
    for (const row of ordered) {
      const id = JSON.stringify([row.outcome, row.labels, row.kind ?? ""]);
      if (!setIds.has(id)) setIds.set(id, setIds.size);
      row.set = setIds.get(id);
    }
    const sets = [...setIds.keys()].map((id) => JSON.parse(id));
    const labels = sets.flatMap(([, set]) => Object.entries(set));
    const columns = {
      "function.name": functions.map((fn) => this.string(fn.name)),
      "function.file": functions.map((fn) => this.string(fn.file ?? "")),
      "function.module": functions.map((fn) => this.string(fn.module ?? "")),
      "function.kind": functions.map((fn) => fn.kind ?? 0),
      "node.depth": depths,
      "node.function": nodeFunctions,
      "stack.node": stacks,
      "stack.end": stacks.map(() => this.string("complete")),
      "set.outcome": sets.map(([outcome]) => outcome),
      "set.kind": sets.map(([, , kind]) => this.string(kind)),
      "set.size": sets.map(([, set]) => Object.keys(set).length),
      "label.key": labels.map(([key]) => this.string(key)),
      "label.value": labels.map(([, value]) => this.string(value)),
      "outcome.name": ["labelled", "unlabelled", "no-recipe", "torn"].map((name) =>
        this.string(name),
      ),
      "thread.pid": this.threads.map((thread) => thread.pid),
      "thread.tid": this.threads.map((thread) => thread.tid),
      "thread.name": this.threads.map((thread) => this.string(thread.name)),
      "thread.comm": this.threads.map((thread) => this.string(thread.comm)),
      "sample.stack": ordered.map((row) => stacks.indexOf(row.place)),
      "sample.set": ordered.map((row) => row.set),
      "sample.thread": ordered.map((row) => row.thread),
      "sample.weight": ordered.map((row) => row.weight),
      "sample.count": ordered.map((row) => row.count),
      "sample.time": timed.map((row, i) => row.time - (i > 0 ? timed[i - 1].time : 0)),
    };
    const texts = this.strings.map((text) => Buffer.from(text));
    return {
      "strings.length": varints(texts.map((text) => text.length)),
      "strings.bytes": Buffer.concat(texts),
      ...Object.fromEntries(
        Object.entries(columns).map(([name, numbers]) => [name, varints(numbers)]),
      ),
    };
  }
  bytes() {
    return container(this.sections());
  }
}

export function container(sections) {
  const parts = [Buffer.from("labelscope page 1\n")];
  for (const [name, bytes] of Object.entries(sections))
    parts.push(varints([name.length]), Buffer.from(name), varints([bytes.length]), bytes);
  return Buffer.concat(parts);
}

export const FACTS = {
  version: "0.1.0",
  command: "labelscope record -p 4242",
  event: "cpu-clock",
  mode: "cpu",
  backend: "bpf",
  call_graph: "fp",
  kernel: "6.1.0",
  start_unix_ms: 1700000000000,
  duration_ns: 1e10,
  period_ns: 10101010,
  tick_ns: 1e6,
  rows: 0,
  written: 100,
  dropped: 0,
  truncated: 0,
  time_line: "10 s of CPU time",
  ledger_line: "100 samples",
  stacks: { all: 100, complete: 97, ends: { complete: 97, "too-deep": 3 } },
  counters: {},
  best_key: "",
  group_by: [],
};

export function modules() {
  const list = readFileSync(join(PAGE, "../../CMakeLists.txt"), "utf8").match(
    /set\(page_modules ([^)]*)\)/,
  )[1];
  return list
    .trim()
    .split(/\s+/)
    .map((name) => `${name}.mjs`);
}

// The script as cli/page_assets.cmake puts it together.
export function script() {
  const texts = modules().map((name) => {
    const text = `\n${readFileSync(join(PAGE, name), "utf8")}`
      .replace(/\nimport [^"]*"[^"]*"[^\n]*/g, "")
      .replaceAll("\nexport ", "\n");
    return `\n// ${name}${text}`;
  });
  return `"use strict";\n(() => {${texts.join("")}})();\n`;
}

// A whole page around these bytes.
export function pageText(bytes, facts = FACTS) {
  const code = script();
  const style = readFileSync(join(PAGE, "style.css"), "utf8");
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy =
    `default-src 'none'; script-src ${hash(code)}; style-src ${hash(style)}; base-uri ` +
    "'none'; form-action 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'";
  return (
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta ` +
    `http-equiv="Content-Security-Policy" content="${policy}">` +
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>` +
    `labelscope</title><style>${style}</style></head><body>\n` +
    readFileSync(join(PAGE, "body.html"), "utf8") +
    `<script type="application/json" id="facts">` +
    `${JSON.stringify(facts).replaceAll("<", "\\u003c")}</script>` +
    `<script type="text/plain" id="profile">${gzipSync(bytes).toString("base64")}</script>` +
    `<script>${code}</script></body></html>`
  );
}
