// Reads a page that labelscope wrote, without the page's own code, and prints what is in it as
// JSON:
//   node read_page.mjs page.html
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { script } from "./encode.mjs";

const html = readFileSync(process.argv[2], "utf8");
const between = (from, to) => {
  const at = html.indexOf(from) + from.length;
  return html.slice(at, html.indexOf(to, at));
};
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const code = between("</script>\n<script>", "</script>");
const policy = between('Content-Security-Policy" content="', '"');

const bytes = gunzipSync(Buffer.from(between('id="profile">', "<"), "base64"));
const magic = "labelscope page 1\n";
if (bytes.subarray(0, magic.length).toString() !== magic) throw new Error("no profile");
let at = magic.length;
const varint = () => {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = BigInt(bytes[at++]);
    value |= (byte & 127n) << shift;
    if (byte < 128n) return Number(value);
  }
};
const sections = {};
while (at < bytes.length) {
  const length = varint();
  const name = bytes.subarray(at, (at += length)).toString();
  const size = varint();
  sections[name] = [at, at + size];
  at += size;
}
const numbers = (name) => {
  const [from, to] = sections[name];
  const values = [];
  for (at = from; at < to;) values.push(varint());
  return values;
};
let end = sections["strings.bytes"][0];
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const strings = numbers("strings.length").map((length) =>
  decoder.decode(bytes.subarray(end, (end += length))),
);
const column = (name) => numbers(name);
const text = (name) => numbers(name).map((number) => strings[number]);
const [names, files, functionModules, kinds] = [
  text("function.name"),
  text("function.file"),
  text("function.module"),
  column("function.kind"),
];
const depths = column("node.depth");
const nodeFunctions = column("node.function");
const path = [];
const stacks = [[]];
depths.forEach((depth, i) => {
  path.length = depth - 1;
  path.push(nodeFunctions[i]);
  stacks.push([...path]);
});
const stackNodes = column("stack.node");
const [keys, values] = [text("label.key"), text("label.value")];
const outcomes = text("outcome.name");
let label = 0;
const sets = column("set.size").map((size, i) => {
  const labels = {};
  for (let n = 0; n < size; n++, label++) labels[keys[label]] = values[label];
  return { labels, outcome: outcomes[column("set.outcome")[i]] };
});
const [pids, tids, threadNames, comms] = [
  column("thread.pid"),
  column("thread.tid"),
  text("thread.name"),
  text("thread.comm"),
];
const [weights, counts, threads, setNumbers, times] = [
  "weight",
  "count",
  "thread",
  "set",
  "time",
].map((name) => column(`sample.${name}`));
let time = 0;
const samples = column("sample.stack").map((stack, i) => ({
  stack: stacks[stackNodes[stack]].map((fn) => ({
    name: names[fn],
    file: files[fn],
    module: functionModules[fn],
    kind: kinds[fn],
  })),
  ...sets[setNumbers[i]],
  pid: pids[threads[i]],
  tid: tids[threads[i]],
  thread_name: threadNames[threads[i]],
  comm: comms[threads[i]],
  weight: weights[i],
  count: counts[i],
  tick: i < times.length ? (time += times[i]) : null,
}));
process.stdout.write(
  JSON.stringify({
    facts: JSON.parse(between('id="facts">', "<")),
    samples,
    allowed:
      policy.includes(`script-src ${hash(code)};`) &&
      policy.includes(`style-src ${hash(between("<style>", "</style>"))};`),
    same_script: code === script(),
    elements: (html.match(/<script/g) ?? []).length,
  }),
);
