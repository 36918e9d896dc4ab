// The page's own regular expressions: they mean what the browser's mean, and always come to an end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NOT_REGULAR, NOT_SEARCHED, TOO_LONG, pattern } from "../../cli/format/page/regex.mjs";
import { numbers } from "./encode.mjs";

const ATOMS = [
  "a",
  "b",
  "c",
  ".",
  "\\w",
  "[ab]",
  "[^a]",
  "\\b",
  "\\B",
  "^",
  "$",
  "\\d",
  "\\s",
  "\\.",
];
const QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"];

function randomPattern(pick, depth) {
  let text = "";
  for (let i = 0; i < 1 + pick(3); i++) {
    const group = depth > 0 && pick(3) === 0;
    const more = () => (pick(2) === 0 ? `|${randomPattern(pick, depth - 1)}` : "");
    let part = ATOMS[pick(ATOMS.length)];
    if (group) part = `(${pick(2) === 0 ? "?:" : ""}${randomPattern(pick, depth - 1)}${more()})`;
    const place = ["\\b", "\\B", "^", "$"].includes(part);
    if (!place && pick(3) === 0) part += QUANTIFIERS[pick(QUANTIFIERS.length)];
    text += part;
  }
  return text;
}

test("a pattern matches what the browser's own would", () => {
  const pick = numbers(42);
  const letters = ["a", "B", "c", " ", "1", ".", "é"];
  for (let i = 0; i < 4000; i++) {
    const text = randomPattern(pick, 2);
    const [ours, theirs] = [pattern(text), new RegExp(text, "iu")];
    for (let k = 0; k < 6; k++) {
      const name = Array.from({ length: pick(8) }, () => letters[pick(letters.length)]).join("");
      assert.equal(ours.test(name), theirs.test(name), `/${text}/ on "${name}"`);
    }
  }
});

test("what is typed for names of functions is found", () => {
  for (const [text, name, found] of [
    ["^std::.*find", "std::map<int>::find", true],
    ["operator<<", "std::operator<<", true],
    ["\\(anonymous namespace\\)", "(anonymous namespace)::f", true],
    ["[a-f]\\d+", "x", false],
    ["\\p{Lu}", "a", true],
    ["КЛЮЧ", "ключ", true],
    ["\\u{1f980}|\\x41", "🦀", true],
    ["(?<name>ab){2}", "abab", true],
  ]) {
    assert.equal(pattern(text).test(name), found, text);
  }
});

test("what takes the browser longer than anybody waits takes a moment", () => {
  const name = `${"service handler request ".repeat(400)}::zz`;
  const begin = performance.now();
  for (const text of [
    "(\\w+\\s?)+::zzz",
    "(a*)*b",
    "(x+x+)+y",
    "(.*)*(.*)*(.*)*!",
    "(\\w|\\w\\w)+$!",
  ]) {
    assert.equal(pattern(text).test(name), false, text);
  }
  assert.ok(performance.now() - begin < 5000);
  const hard = pattern(`(${"(a|b|.)".repeat(3)}){1,60}a${"(a|b|.)".repeat(200)}q`);
  const names = Array.from({ length: 20000 }, (_, i) => `${i.toString(2)} ab`.repeat(40));
  for (const one of names) hard.test(one);
  assert.ok(performance.now() - begin < 30000);
});

test("what is no expression, or none that can be followed so, says why", () => {
  assert.equal(pattern("(").problem, NOT_REGULAR);
  assert.equal(pattern("a(?=b)").problem, NOT_SEARCHED);
  assert.equal(pattern("(?<!b)a").problem, NOT_SEARCHED);
  assert.equal(pattern("(a)\\1").problem, NOT_SEARCHED);
  assert.equal(pattern("a{99999}").problem, TOO_LONG);
  assert.equal(pattern("((a{99}){99}){99}").problem, TOO_LONG);
  assert.equal(pattern("((){999}){999}").problem, TOO_LONG);
});
