// Regular expressions that always come to an end.
//
// The browser's own follow one way after the other: "(\w+\s?)+::z" needs longer than anybody waits
// for a name of forty letters, and no page can stop it. Here a pattern becomes a list of steps, and
// all ways through them are followed at once, one character after the other:
//
//     a(b|c)*d    0 a   1 split 2 7   2 split 3 5   3 b   4 jump 6   5 c   6 jump 1   7 d   8 match
//
// So a text takes time in proportion to its length. Sets of steps that were met before are kept
// with what follows them (a lazy automaton), which makes most characters one look-up.
//
// What one character may be ("\w", "[^a-z]", "\p{Lu}", "x" without regard to case) is still asked
// of the browser, one character at a time. Look-around and references back have no such list.

const MOST_STEPS = 3000;
const MOST_KEPT = 5000;
// What is done in a fraction of a second. Nothing that somebody types needs it.
const MOST_WORK = 3e7;
const END = -1;
const MATCHED = "matched";

export const NOT_REGULAR = "not a regular expression";
export const NOT_SEARCHED = "look-around and references back are not searched for";
export const STOPPED = "stopped: this expression takes too long";
export const TOO_LONG = "this expression is too long";

// One character: a letter, an escape or a class.
const ESCAPE = /\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|[^])/u;
const CLASS = /\[(?:\\[^]|[^\]\\])*\]/u;
const ATOM = new RegExp(`^(?:${ESCAPE.source}|${CLASS.source}|[^])`, "u");
const QUANTIFIER = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/;

class Unsupported extends Error {}

// Reads a valid expression: { any: [parts] } are alternatives, { all: [parts] } follow each other,
// { part, from, to } repeats, { is } is a character, { holds } a place.
class Parser {
  constructor(text) {
    this.rest = text;
  }

  take(count) {
    this.rest = this.rest.slice(count);
  }

  alternatives() {
    const any = [this.sequence()];
    while (this.rest.startsWith("|")) {
      this.take(1);
      any.push(this.sequence());
    }
    return any.length === 1 ? any[0] : { any };
  }

  sequence() {
    const all = [];
    while (this.rest !== "" && !/^[|)]/.test(this.rest)) {
      const part = this.one();
      const quantifier = QUANTIFIER.exec(this.rest);
      all.push(quantifier ? this.repeated(part, quantifier) : part);
    }
    return { all };
  }

  one() {
    if (this.rest.startsWith("(")) {
      const [group] = /^\((?:\?(?::|<(?![=!])[^>]*>))?/.exec(this.rest);
      if (this.rest.startsWith("?", group.length)) throw new Unsupported(NOT_SEARCHED);
      this.take(group.length);
      const inside = this.alternatives();
      this.take(1);
      return inside;
    }
    const [atom] = ATOM.exec(this.rest);
    this.take(atom.length);
    if (/^\\[1-9k]/.test(atom)) throw new Unsupported(NOT_SEARCHED);
    if (["^", "$", "\\b", "\\B"].includes(atom)) return { holds: atom };
    const expression = new RegExp(`^${atom}$`, "iu");
    return { is: (code) => expression.test(String.fromCodePoint(code)) };
  }

  repeated(part, [whole, least, comma, most]) {
    this.take(whole.length);
    if (whole[0] === "*") return { part, from: 0, to: Infinity };
    if (whole[0] === "+") return { part, from: 1, to: Infinity };
    if (whole[0] === "?") return { part, from: 0, to: 1 };
    const from = Number(least);
    return { part, from, to: !comma ? from : most ? Number(most) : Infinity };
  }
}

// Makes the list of steps: { is } for a character, { split: [to, to] }, { jump }, { holds },
// { match }.
class Compiler {
  constructor(text) {
    this.steps = [];
    this.parts = 0;
    this.part(new Parser(text).alternatives());
    this.add({ match: true });
  }

  add(step) {
    if (this.steps.length >= MOST_STEPS) throw new Unsupported(TOO_LONG);
    return this.steps.push(step) - 1;
  }

  part(part) {
    // Also what makes no step costs time: "((){99}){99}".
    if ((this.parts += 1) > 10 * MOST_STEPS) throw new Unsupported(TOO_LONG);
    if (part.any) this.alternatives(part.any);
    else if (part.all) for (const one of part.all) this.part(one);
    else if (part.part) this.repeat(part);
    else this.add(part);
  }

  alternatives(any) {
    const jumps = [];
    any.forEach((one, i) => {
      const split = i + 1 < any.length ? this.split() : -1;
      this.part(one);
      if (split < 0) return;
      jumps.push(this.add({}));
      this.steps[split].split[1] = this.steps.length;
    });
    for (const jump of jumps) this.steps[jump].jump = this.steps.length;
  }

  split() {
    return this.add({ split: [this.steps.length + 1, 0] });
  }

  // "x{2,4}" is xx, then twice an x that may be left out.
  repeat({ part, from, to }) {
    for (let i = 0; i < from; i++) this.part(part);
    if (to === Infinity) {
      const loop = this.split();
      this.part(part);
      this.add({ jump: loop });
      this.steps[loop].split[1] = this.steps.length;
      return;
    }
    const ways = [];
    for (let i = from; i < to; i++) {
      ways.push(this.split());
      this.part(part);
    }
    for (const way of ways) this.steps[way].split[1] = this.steps.length;
  }
}

const isWord = (code) =>
  (code >= 48 && code < 58) ||
  (code >= 65 && code < 91) ||
  code === 95 ||
  (code >= 97 && code < 123);

// A pattern that was compiled. `stopped`: it has taken too long, and says no more.
class Pattern {
  constructor(steps) {
    this.steps = steps;
    this.work = 0;
    this.forget();
  }

  get stopped() {
    return this.work > MOST_WORK;
  }

  forget() {
    this.kept = new Map();
    this.first = this.stateOf([], false, true);
  }

  // The steps that wait for a character, and what came before it. A match may begin anywhere.
  stateOf(waiting, afterWord, atStart) {
    const steps = [...new Set([0, ...waiting])].sort((a, b) => a - b);
    const id = `${steps.join()} ${afterWord} ${atStart}`;
    let state = this.kept.get(id);
    if (!state) this.kept.set(id, (state = { steps, afterWord, atStart, next: new Map() }));
    return state;
  }

  holds(place, state, code) {
    if (place === "^") return state.atStart;
    if (place === "$") return code === END;
    return (state.afterWord !== (code !== END && isWord(code))) === (place === "\\b");
  }

  follow(state, code) {
    const open = [...state.steps];
    const seen = new Set(open);
    const waiting = [];
    const go = (to) => {
      if (seen.has(to)) return;
      seen.add(to);
      open.push(to);
    };
    while (open.length > 0) {
      const at = open.pop();
      const step = this.steps[at];
      this.work += 1;
      if (step.match) return MATCHED;
      if (step.split) step.split.forEach(go);
      else if (step.jump !== undefined) go(step.jump);
      else if (step.holds) {
        if (this.holds(step.holds, state, code)) go(at + 1);
      } else if (code !== END && step.is(code)) waiting.push(at + 1);
    }
    if (code === END) return null;
    if (this.kept.size > MOST_KEPT) this.forget();
    return this.stateOf(waiting, isWord(code), false);
  }

  next(state, code) {
    let next = state.next.get(code);
    if (next === undefined) state.next.set(code, (next = this.follow(state, code)));
    return next;
  }

  test(text) {
    let state = this.first;
    for (let i = 0; i < text.length && !this.stopped;) {
      const code = text.codePointAt(i);
      state = this.next(state, code);
      if (state === MATCHED) return true;
      i += code > 0xffff ? 2 : 1;
    }
    return this.next(state, END) === MATCHED;
  }
}

// A Pattern for test(), or { problem }. Without regard to case.
export function pattern(text) {
  try {
    new RegExp(text, "iu");
  } catch {
    return { problem: NOT_REGULAR };
  }
  try {
    return new Pattern(new Compiler(text).steps);
  } catch (error) {
    if (error instanceof Unsupported) return { problem: error.message };
    if (error instanceof RangeError) return { problem: TOO_LONG };
    throw error;
  }
}
