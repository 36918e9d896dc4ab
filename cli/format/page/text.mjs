// Numbers and names as people read them.

export const UNSET = "(unset)";
export const UNREADABLE = "(unreadable)";
export const EMPTY = "(empty)";

// What weights are: time, or what a pprof file of another tool counts ("inuse_space", in bytes).
let weightUnit = "nanoseconds";
let weightName = "time";
let wholeName = "time";
let countName = "samples";
export function setWeights({ unit = "nanoseconds", mode = "", counted = "samples" }) {
  weightUnit = unit;
  weightName = unit === "nanoseconds" ? "time" : bounded(mode, 60);
  const times = { cpu: "CPU time", wall: "threads' time" };
  wholeName = times[mode] ?? bounded(mode, 60);
  countName = bounded(counted, 60);
}
// "15.6 s of CPU time", "4.0 MiB of inuse_space"
export function wholeText(weight) {
  return wholeName === "" ? weightText(weight) : `${weightText(weight)} of ${wholeName}`;
}
// "1 sample", "3 samples", "3 inuse_objects"
export function countText(count) {
  return countName === "samples"
    ? counted(count, "sample", "samples")
    : `${thousands(count)} ${countName}`;
}
// "time", "inuse_space"; in sentences "the time", "inuse_space"
export function weightsName() {
  return weightName;
}
export function theWeights() {
  return weightUnit === "nanoseconds" ? "the time" : weightName;
}

export function weightText(weight) {
  if (weightUnit === "nanoseconds") return timeText(weight);
  if (weightUnit !== "bytes") return thousands(weight);
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = weight;
  let at = 0;
  for (; at + 1 < units.length && value >= 999.5; at++) value /= 1024;
  return `${value.toFixed(at === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${units[at]}`;
}

// "950 ns", "12.3 ms", "78.9 s": three digits.
export function timeText(ns) {
  const units = [
    ["s", 1e9],
    ["ms", 1e6],
    ["us", 1e3],
  ];
  const [unit, size] = units.find(([, size]) => Math.abs(ns) >= size) ?? ["ns", 1];
  const value = ns / size;
  const digits = unit === "ns" || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit === "us" ? "µs" : unit}`;
}

// "12.3%"; never 0.0 or 100.0 for a part that is neither.
export function percent(part, whole) {
  if (!(whole > 0)) return "0%";
  const share = (100 * part) / whole;
  if (part > 0 && share < 0.05) return "<0.1%";
  if (part < whole && share > 99.95) return ">99.9%";
  return `${share.toFixed(1)}%`;
}

export function counted(number, one, many) {
  return `${thousands(number)} ${number === 1 ? one : many}`;
}

export function thousands(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// At most `most` characters: the beginning and the end say more than the middle.
export function bounded(text, most) {
  if (text.length <= most) return text;
  const characters = Array.from(text.slice(0, most), (c) => c);
  const head = characters.slice(0, Math.ceil((most - 1) * 0.7)).join("");
  return `${head}…${text.slice(text.length - Math.floor((most - 1) * 0.3))}`.replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    "",
  );
}

// A function's name without what is said by its place: arguments and template arguments.
export function shortName(name) {
  let text = name.replaceAll("(anonymous namespace)::", "");
  for (const [open, close] of [
    ["(", ")"],
    ["<", ">"],
  ]) {
    let depth = 0;
    let out = "";
    // "operator<", "<impl as Trait>", "main.(*S).Run" and "ArrayList.<init>" are names, not
    // arguments.
    let isName = false;
    for (const c of text) {
      if (c === open && depth === 0 && (out === "" || /[.:]$|operator$|decltype$/.test(out)))
        isName = true;
      if (c === open) depth += 1;
      if (depth === 0) out += c;
      if (c === close && depth > 0) depth -= 1;
    }
    if (depth === 0 && !isName) text = out;
  }
  return text;
}

export function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
