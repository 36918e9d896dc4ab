// What the views ask of a profile in a state. Answers are kept until what they depend on changes.
import {
  NO_FILTER,
  both,
  failedBits,
  matchingFunctions,
  withValue,
  withoutKey,
} from "./filter.mjs";
import { CODE_UNREADABLE, CODE_UNSET } from "./model.mjs";
import { VALUE_COLORS } from "./palette.mjs";
import { Slice } from "./slice.mjs";
import {
  codeSums,
  functionTotals,
  heaviestCodes,
  histogram,
  matchedWeight,
  pivotTotals,
} from "./tables.mjs";
import { kindSums, kindWeights, timeKinds } from "./time_kinds.mjs";
import {
  CallTree,
  FunctionTree,
  InvertedTree,
  Measure,
  rowsOfFunction,
  standardErrors,
} from "./tree.mjs";

// Classes of values by which rows are coloured: the heaviest, all others, and ours.
export const CLASS_OTHER = VALUE_COLORS;
export const CLASS_UNSET = VALUE_COLORS + 1;
export const CLASS_UNREADABLE = VALUE_COLORS + 2;
export const CLASSES = VALUE_COLORS + 3;
const EVERYTHING = JSON.stringify(NO_FILTER);
const KEPT_SLICES = 6;

export class Questions {
  constructor(profile) {
    this.profile = profile;
    this.kept = new Map();
    this.made = new Map(); // filter -> slice
    this.everything = Slice.chosen(profile, new Uint32Array(profile.rows.count));
  }

  // The answer for these parts of the state, or a new one. One answer is kept for each question.
  keep(question, parts, answer) {
    const id = JSON.stringify(parts);
    const kept = this.kept.get(question);
    if (kept?.id === id) return kept.answer;
    const made = { id, answer: answer() };
    this.kept.set(question, made);
    return made.answer;
  }

  // The filters of what is shown: one, or those of A and B.
  filters(state) {
    if (!state.compare) return [state.filter];
    return [both(state.filter, state.a), both(state.filter, state.b)];
  }

  slices(state) {
    const filters = this.filters(state);
    return this.keep("slices", filters, () => filters.map((filter) => this.sliceOf(filter)));
  }

  // The rows of the filter alone, also where A and B are compared.
  slice(state) {
    return this.sliceOf(state.filter);
  }

  sliceOf(filter) {
    const id = JSON.stringify(filter);
    if (id === EVERYTHING) return this.everything;
    let slice = this.made.get(id);
    if (!slice) {
      if (this.made.size >= KEPT_SLICES) this.made.delete(this.made.keys().next().value);
      slice = Slice.chosen(this.profile, failedBits(this.profile, filter).bits);
      this.made.set(id, slice);
    }
    return slice;
  }

  groups(state) {
    return state.groups
      .map((name) => this.profile.keys.get(name))
      .filter((key) => key !== undefined);
  }

  tree(state) {
    const slices = this.slices(state);
    return this.keep(
      "tree",
      [this.filters(state), state.groups, state.leaves, state.inverted],
      () => {
        const groups = this.groups(state);
        return state.inverted
          ? new InvertedTree(this.profile, slices, { groups })
          : new CallTree(this.profile, slices, { groups, leaves: state.leaves });
      },
    );
  }

  functionTrees(state) {
    const slices = this.slices(state);
    return this.keep("function trees", [this.filters(state), state.function], () => ({
      callers: new FunctionTree(this.profile, slices, state.function, "callers"),
      callees: new FunctionTree(this.profile, slices, state.function, "callees"),
    }));
  }

  totals(state) {
    const slices = this.slices(state);
    return this.keep("totals", this.filters(state), () =>
      slices.map((slice) => functionTotals(this.profile, slice)),
    );
  }

  // Samples, not time: what chance goes by.
  counts(state) {
    const slices = this.slices(state);
    return this.keep("counts", this.filters(state), () =>
      slices.map((slice) => {
        const counted = { weights: slice.samples, rows: null };
        return { whole: slice.count, ...functionTotals(this.profile, counted) };
      }),
    );
  }

  pivot(state) {
    const key = this.profile.keys.get(state.pivot);
    if (!key) return null;
    return this.keep("pivot", [this.filters(state), state.pivot], () =>
      pivotTotals(this.profile, this.slices(state)[0], key),
    );
  }

  // For each key what its values weigh, under all filters but its own.
  labels(state, slot) {
    const filter = slot === "" ? state.filter : both(state.filter, state[slot]);
    const own = slot === "" ? state.filter : state[slot];
    return this.keep("labels", [filter, own], () => {
      const chosen = this.sliceOf(filter);
      const failed = own.terms.length > 0 ? failedBits(this.profile, filter) : { bitOf: new Map() };
      return [...this.profile.keys.values()].map((key) => {
        const term = own.terms.find((one) => one.key === key.name);
        const bit = failed.bitOf.get(key.name);
        let slice = chosen;
        if (bit !== undefined) slice = Slice.chosen(this.profile, failed.bits, bit);
        // A term without a bit of its own.
        else if (term) slice = this.sliceOf(withoutKey(filter, key.name));
        const sums = codeSums(this.profile, slice, key);
        return { key, sums, whole: slice.weight, term, kinds: this.kinds(slice, key) };
      });
    });
  }

  // null: all time is of one kind.
  timeKinds() {
    return this.keep("time kinds", "", () => timeKinds(this.profile));
  }
  kinds(slice, key) {
    const ofRow = this.timeKinds();
    return ofRow && kindSums(this.profile, slice, key, ofRow);
  }
  // What the filter leaves, by kind.
  kindWeights(state, slot) {
    const filter = slot === "" ? state.filter : both(state.filter, state[slot]);
    const ofRow = this.timeKinds();
    return ofRow && kindWeights(this.sliceOf(filter), ofRow);
  }

  // Labels by how much they cover of the whole profile, then what is known of every thread.
  labelsInOrder(state, slot) {
    this.covered ??= new Map(
      this.labels({ ...state, filter: NO_FILTER }, "").map(({ key, sums, whole }) => {
        return [key, whole - sums[CODE_UNSET] - sums[CODE_UNREADABLE]];
      }),
    );
    const rank = (entry) => (entry.key.own ? -1 : this.covered.get(entry.key));
    return [...this.labels(state, slot)].sort((x, y) => rank(y) - rank(x));
  }

  // What the values of each key weigh below one function; in each part, where two are compared.
  breakdown(state, fn) {
    const filters = this.filters(state);
    return this.keep("breakdown", [filters, fn], () => {
      const inside = rowsOfFunction(this.profile, fn);
      const slices = filters.map((filter) => {
        const { bits } = failedBits(this.profile, filter);
        for (let row = 0; row < inside.length; row++) if (!inside[row]) bits[row] |= 1 << 30;
        return Slice.chosen(this.profile, bits);
      });
      return [...this.profile.keys.values()].map((key) => ({
        key,
        sums: slices.map((slice) => codeSums(this.profile, slice, key)),
        wholes: slices.map((slice) => slice.weight),
      }));
    });
  }

  // How far from chance a difference of two counts is. What is not sampled has no chance: there
  // each difference is one.
  errors(counts, wholes) {
    if (this.profile.sampled) return standardErrors(counts, wholes);
    const share = (i) => (wholes[i] > 0 ? counts[i] / wholes[i] : 0);
    return share(1) === share(0) ? 0 : (share(1) - share(0)) * Infinity;
  }

  // Whether a value stands for A (0), for B (1), or for none of them (-1).
  sideOf(state, key, code) {
    const token = key.token(code);
    if (!state.compare)
      return key.name === this.profile.facts.compare_by ? ["A", "B"].indexOf(token) : -1;
    const chosen = [state.a, state.b].map((side) =>
      side.terms.some(
        ({ key: name, only }) => name === key.name && only.length === 1 && only[0] === token,
      ),
    );
    return chosen[0] === chosen[1] ? -1 : chosen.indexOf(true);
  }

  // Codes with weight: that of A, that of B, then the heaviest first.
  inOrder(state, key, sums) {
    const place = (code) => [2, 0, 1][this.sideOf(state, key, code) + 1];
    return heaviestCodes(sums).sort((x, y) => place(x) - place(y));
  }

  // The class of each value of a key. By the whole profile, so that filters change no colour.
  classes(key) {
    if (key.classes) return key.classes;
    key.classes = new Uint8Array(key.codeCount).fill(CLASS_OTHER);
    const values = this.inOrder(
      { compare: false },
      key,
      codeSums(this.profile, this.everything, key),
    ).filter((code) => code > CODE_UNREADABLE);
    values.slice(0, VALUE_COLORS).forEach((code, rank) => (key.classes[code] = rank));
    key.classes[CODE_UNSET] = CLASS_UNSET;
    key.classes[CODE_UNREADABLE] = CLASS_UNREADABLE;
    return key.classes;
  }

  // The shares of the classes in some rows of a slice: [[class, share], ...].
  classShares(key, slice, first, last) {
    if (slice.classKey !== key) {
      slice.classKey = key;
      slice.classParts = [...slice.split(this.rowClasses(key), CLASSES)];
    }
    const whole = slice.weightOf(first, last);
    return slice.classParts
      .map(([part, rows]) => [part, rows.weightOf(first, last) / whole])
      .filter(([, share]) => share > 0);
  }

  rowClasses(key) {
    return this.keep("row classes", key.name, () => {
      const classes = this.classes(key);
      const codes = this.profile.codes(key);
      const ofRow = new Uint8Array(codes.length);
      for (let row = 0; row < codes.length; row++) ofRow[row] = classes[codes[row]];
      return ofRow;
    });
  }

  // Where A and B are compared, a row of bars for each of them.
  histogram(state, bins) {
    const filter = { ...state.filter, time: null };
    if (state.compare) {
      const [a, b] = [state.a, state.b].map((side) => ({ ...side, time: null }));
      const sides = this.filters({ ...state, filter, a, b });
      return this.keep("histogram", [sides, bins], () =>
        sides.flatMap((side) => histogram(this.profile, this.sliceOf(side), bins)),
      );
    }
    return this.keep("histogram", [filter, state.color, bins], () => {
      const slice = this.sliceOf(filter);
      const key = this.profile.keys.get(state.color);
      return key
        ? histogram(this.profile, slice, bins, this.rowClasses(key), CLASSES)
        : histogram(this.profile, slice, bins);
    });
  }

  // null: nothing is searched for. `problem`: why it cannot be.
  search(state) {
    if (state.search === "") return null;
    return this.keep("search", [this.filters(state), state.search], () => {
      const { matches, problem } = matchingFunctions(this.profile, state.search);
      if (problem) return { problem };
      const slices = this.slices(state);
      const measure = new Measure(slices);
      const weights = slices.map((slice) => matchedWeight(this.profile, slice, matches));
      return {
        matches,
        weights,
        share: measure.size(weights),
        whole: measure.whole,
        functions: matches.reduce((sum, one) => sum + one, 0),
      };
    });
  }

  // The key that says most: what the recorder found, or the first with several values.
  bestKey() {
    const { facts, keys } = this.profile;
    if (keys.has(facts.best_key)) return facts.best_key;
    for (const key of keys.values()) if (!key.own && key.values.length > 1) return key.name;
    return "";
  }

  // Two filters to begin a comparison with: the two heaviest values of the key that says most, or
  // of the first key that has two. (unset) and (unreadable) are no values.
  comparison(state) {
    const { keys } = this.profile;
    const order = new Set([keys.get(this.bestKey()), ...keys.values()]);
    for (const key of order) {
      if (!key) continue;
      const filter = withoutKey(state.filter, key.name);
      const sums = codeSums(this.profile, this.sliceOf(filter), key);
      const values = heaviestCodes(sums).filter((code) => code > CODE_UNREADABLE);
      if (values.length < 2) continue;
      const side = (code) => withValue(NO_FILTER, key.name, key.token(code), "only");
      const [a, b] = values.slice(0, 2).map(side);
      return { a, b, filter };
    }
    return null;
  }
}
