// What is shown, as one value, and its text in the address: so a link reproduces the view.
import { NO_FILTER } from "./filter.mjs";
import { pattern } from "./regex.mjs";

export const VIEWS = ["flame", "table", "function"];
const MOST_CHARACTERS = 20000;

export const DEFAULT_STATE = Object.freeze({
  view: "flame",
  filter: NO_FILTER,
  groups: [],
  leaves: false, // groups below the functions, not above them
  inverted: false,
  icicle: true, // the root is at the top
  color: "", // a key; empty: by function
  search: "",
  zoom: [], // path of a box
  function: -1,
  pivot: "",
  pivotTotal: true,
  sort: "self",
  ascending: false,
  compare: false,
  a: NO_FILTER,
  b: NO_FILTER,
});

const isToken = (value) => value === null || value === false || typeof value === "string";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function checkedFilter(value) {
  const terms = [];
  for (const [key, only, not] of value[0] ?? []) {
    if (typeof key !== "string" || !only.every(isToken) || !not.every(isToken))
      throw new Error("term");
    terms.push({ key, only, not });
  }
  const time = value[1] ?? null;
  if (time !== null && !(time.length === 2 && time.every(isNumber))) throw new Error("time");
  const expression = (text = "") => {
    if (typeof text !== "string" || (text !== "" && pattern(text).problem))
      throw new Error("stack");
    return text;
  };
  return { terms, time, stack: expression(value[2]), without: expression(value[3]) };
}

const filterCode = {
  write: (filter) =>
    JSON.stringify([
      filter.terms.map((term) => [term.key, term.only, term.not]),
      filter.time,
      filter.stack,
      ...(filter.without === "" ? [] : [filter.without]),
    ]),
  read: (text) => checkedFilter(JSON.parse(text)),
};
const flagCode = { write: (value) => (value ? "1" : "0"), read: (text) => text === "1" };
const textCode = { write: (value) => value, read: (text) => text };
const listCode = {
  write: (value) => JSON.stringify(value),
  read: (text) => {
    const value = JSON.parse(text);
    if (!Array.isArray(value) || !value.every((one) => typeof one === "string"))
      throw new Error("list");
    return value;
  },
};
const numberCode = {
  write: String,
  read: (text) => {
    if (!/^-?\d{1,9}$/.test(text)) throw new Error("number");
    return Number(text);
  },
};
const oneOf = (words) => ({
  write: (value) => value,
  read: (text) => {
    if (!words.includes(text)) throw new Error("word");
    return text;
  },
});

const FIELDS = {
  view: oneOf(VIEWS),
  filter: filterCode,
  groups: listCode,
  leaves: flagCode,
  inverted: flagCode,
  icicle: flagCode,
  color: textCode,
  search: textCode,
  zoom: listCode,
  function: numberCode,
  pivot: textCode,
  pivotTotal: flagCode,
  sort: textCode,
  ascending: flagCode,
  compare: flagCode,
  a: filterCode,
  b: filterCode,
};

// Only what differs from the default, so that most links are short.
export function writeState(state, initial = DEFAULT_STATE) {
  const parameters = new URLSearchParams();
  for (const [name, code] of Object.entries(FIELDS)) {
    const text = code.write(state[name]);
    if (text !== code.write(initial[name])) parameters.set(name, text);
  }
  const text = parameters.toString();
  return text === "" ? "" : `#${text}`;
}

// { state, problem }: what cannot be understood is left at its default, and said.
export function readState(fragment, initial = DEFAULT_STATE) {
  const state = { ...initial };
  const wrong = [];
  if (fragment.length > MOST_CHARACTERS)
    return { state, problem: "The link is too long; this is the whole profile." };
  for (const [name, text] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    try {
      if (!Object.hasOwn(FIELDS, name)) throw new Error("unknown");
      state[name] = FIELDS[name].read(text);
    } catch {
      wrong.push(name);
    }
  }
  const problem =
    wrong.length === 0
      ? ""
      : `Not understood in the link, and left out: ${wrong.join(", ").slice(0, 200)}.`;
  return { state, problem };
}
