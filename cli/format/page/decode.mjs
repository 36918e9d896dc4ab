// The data block of a page, unpacked: base64, gzip, sections, columns of numbers.
// page_columns.cc says what the sections are. Everything is checked here, so that the other modules
// may rely on it.

const MAGIC = "labelscope page 1\n";

export class DamagedPage extends Error {}

export function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

export async function unpack(base64) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error(
      "This browser cannot unpack the profile: it has no DecompressionStream. " +
        "Chrome 80, Firefox 113, Safari 16.4 and everything newer can show this page.",
    );
  }
  try {
    const packed = new Blob([bytesOfBase64(base64)]).stream();
    const unpacked = packed.pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(unpacked).arrayBuffer());
  } catch {
    throw new DamagedPage("The data of this page is incomplete or damaged: copy the file again.");
  }
}

// name -> bytes
export function readSections(bytes) {
  for (let i = 0; i < MAGIC.length; i++) {
    if (bytes[i] !== MAGIC.charCodeAt(i)) throw new DamagedPage("This page has no profile in it.");
  }
  const sections = new Map();
  let at = MAGIC.length;
  const number = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      if (at >= bytes.length) throw new DamagedPage("The profile in this page is cut short.");
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const take = (size) => {
    if (size > bytes.length - at) throw new DamagedPage("The profile in this page is cut short.");
    at += size;
    return bytes.subarray(at - size, at);
  };
  while (at < bytes.length) {
    const name = String.fromCharCode(...take(number()));
    sections.set(name, take(number()));
  }
  return sections;
}

// Varints; a Uint32Array where all of them fit, else exact up to 2^53.
export function readNumbers(bytes) {
  let count = 0;
  let widest = 0;
  let width = 0;
  for (let i = 0; i < bytes.length; i++) {
    width += 1;
    if (bytes[i] < 128) {
      count += 1;
      if (width > widest) widest = width;
      width = 0;
    }
  }
  if (width !== 0) throw new DamagedPage("A column of this page ends within a number.");
  const numbers = widest <= 4 ? new Uint32Array(count) : new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++];
    let value = byte & 127;
    for (let scale = 128; byte >= 128; scale *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * scale;
    }
    numbers[i] = value;
  }
  return numbers;
}

export function readStrings(lengths, bytes) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const strings = new Array(lengths.length);
  let at = 0;
  for (let i = 0; i < lengths.length; i++) {
    strings[i] = decoder.decode(bytes.subarray(at, at + lengths[i]));
    at += lengths[i];
  }
  if (at !== bytes.length) throw new DamagedPage("The texts of this page do not add up.");
  return strings;
}

function checkedBelow(numbers, limit, what) {
  for (let i = 0; i < numbers.length; i++) {
    if (numbers[i] >= limit) throw new DamagedPage(`The profile in this page is damaged: ${what}.`);
  }
  return numbers;
}

// All columns by name ("sample.stack"), plus `strings`.
export function readColumns(bytes) {
  const sections = readSections(bytes);
  const numbers = (name) => {
    if (!sections.has(name)) throw new DamagedPage(`The profile in this page has no ${name}.`);
    return readNumbers(sections.get(name));
  };
  const strings = readStrings(
    numbers("strings.length"),
    sections.get("strings.bytes") ?? new Uint8Array(),
  );
  const columns = { strings };
  const table = (name, fields, limits = {}) => {
    let length = -1;
    for (const field of fields) {
      const column = numbers(`${name}.${field}`);
      if (length >= 0 && column.length !== length)
        throw new DamagedPage(`The columns of ${name} differ in length.`);
      length = column.length;
      const limit = limits[field];
      columns[`${name}.${field}`] =
        limit === undefined ? column : checkedBelow(column, limit, `${name}.${field}`);
    }
    return length;
  };
  const text = strings.length;
  const functions = table("function", ["name", "file", "module", "kind"], {
    name: text,
    file: text,
    module: text,
  });
  const nodes = 1 + table("node", ["depth", "function"], { function: functions });
  const stacks = table("stack", ["node", "end"], { node: nodes, end: text });
  table("outcome", ["name"], { name: text });
  const sets = table("set", ["outcome", "kind", "size"], { kind: text });
  table("label", ["key", "value"], { key: text, value: text });
  const threads = table("thread", ["pid", "tid", "name", "comm"], { name: text, comm: text });
  const rows = table("sample", ["stack", "set", "thread", "weight", "count"], {
    stack: stacks,
    set: sets,
    thread: threads,
  });
  columns["sample.time"] = numbers("sample.time");
  if (columns["sample.time"].length > rows)
    throw new DamagedPage("There are more times than samples in this page.");
  let labels = 0;
  for (const size of columns["set.size"]) labels += size;
  if (labels !== columns["label.key"].length)
    throw new DamagedPage("The labels of this page do not add up.");
  let before = 0;
  for (const depth of columns["node.depth"]) {
    if (depth < 1 || depth > before + 1)
      throw new DamagedPage("The stacks of this page are no tree.");
    before = depth;
  }
  return columns;
}
