// How boxes of flame graphs look and what they say, by the state.
import { boxLabel } from "./flame.mjs";
import {
  OTHER,
  SIDE_COLORS,
  UNREADABLE_COLOR,
  UNSET_COLOR,
  differenceColor,
  functionColor,
  textOn,
  valueColor,
} from "./palette.mjs";
import { CLASS_OTHER, CLASS_UNREADABLE, CLASS_UNSET } from "./questions.mjs";
import { heaviestCodes } from "./tables.mjs";
import { countText, percent, weightText, wholeText } from "./text.mjs";
import { boxName, valueText } from "./tree.mjs";

export class Boxes {
  constructor(profile, questions) {
    this.profile = profile;
    this.questions = questions;
  }

  // Before anything is drawn.
  look({ state, safe, dark }) {
    Object.assign(this, { state, safe, dark });
  }

  classColor(part) {
    if (part === CLASS_UNSET) return UNSET_COLOR;
    if (part === CLASS_UNREADABLE) return UNREADABLE_COLOR;
    return part === CLASS_OTHER ? OTHER : valueColor(part, this.safe);
  }

  // Of a value in the list of labels: where A and B are compared, only theirs have colours.
  valueColor(key, code) {
    if (this.state.compare)
      return SIDE_COLORS[this.questions.sideOf(this.state, key, code)] ?? null;
    return this.state.color === key.name
      ? this.classColor(this.questions.classes(key)[code])
      : null;
  }

  boxText(box) {
    if (box.kind !== "root") return boxName(this.profile, box);
    return this.state.compare ? "A and B" : `all, ${wholeText(box.weights[0])}`;
  }

  // [{ color, share, hatched: "" or one of two directions, ink }...]. `narrow`: too narrow for more
  // than one colour.
  boxColor(box, narrow) {
    const measure = box.tree.measure;
    if (measure.compares) return [this.differenceOf(box, measure)];
    if (box.kind === "root") {
      const [color, ink] = this.dark ? ["#3b4048", "#e8eaed"] : ["#dfe3e8", "#15181c"];
      return [{ color, share: 1, ink }];
    }
    const key = this.profile.keys.get(this.state.color);
    if (box.groupKey) {
      if (key && key !== box.groupKey && box.kind === "group") return this.shares(box, key, narrow);
      return [this.classPart(this.questions.classes(box.groupKey)[box.code], 1)];
    }
    if (key && box.node !== undefined) return this.shares(box, key, narrow);
    return [{ color: this.functionColor(box.function), share: 1 }];
  }

  differenceOf(box, measure) {
    const inProportion = (weight, i) =>
      (weight / (measure.wholes[i] || 1)) * measure.slices[i].count;
    const counts = box.counts ?? box.weights.map(inProportion);
    const wholes = measure.slices.map((slice) => slice.count);
    const errors = box.kind === "root" ? 0 : this.questions.errors(counts, wholes);
    const [a, b] = [0, 1].map((side) => measure.share(box.weights, side));
    const color = differenceColor(a, b, errors, this.dark);
    return { color, share: 1, ink: textOn(color) };
  }

  functionColor(fn) {
    const { functions } = this.profile;
    const look = `${this.safe} ${this.dark}`;
    if (this.functionColors?.look !== look) {
      this.functionColors = { look, colors: new Array(functions.count) };
    }
    return (this.functionColors.colors[fn] ??= functionColor(
      functions.name(fn),
      functions.module(fn),
      functions.kind[fn],
      this.safe,
      this.dark,
    ));
  }

  classPart(part, share) {
    const hatched = part === CLASS_UNSET ? "up" : part === CLASS_UNREADABLE ? "down" : "";
    return { color: this.classColor(part), share, hatched };
  }

  // A box in the colours of the values that it is made of; a narrow one in that of the heaviest.
  shares(box, key, narrow) {
    const { nodes, rows } = this.profile;
    const first = rows.firstRow[box.node];
    const last = rows.firstRow[nodes.end[box.node]];
    let shares = this.questions.classShares(key, box.slices[0], first, last);
    if (narrow && shares.length > 1) {
      const [part] = shares.reduce((most, one) => (one[1] > most[1] ? one : most));
      shares = [[part, 1]];
    }
    return shares.map(([part, share]) => this.classPart(part, share));
  }

  // Shares of what is in view, and of all that was recorded.
  describe(box) {
    const { measure } = box.tree;
    const name = boxLabel(this.profile, box);
    const view = box.tree.view ?? measure.whole;
    if (box.kind === "other") {
      const share = percent(box.size, view);
      return `${name}: too narrow to be seen one by one, ${share}; open it to see them`;
    }
    if (measure.compares) {
      const [a, b] = [0, 1].map((side) => percent(measure.share(box.weights, side), 1));
      return `${name}: A ${a}, B ${b}`;
    }
    const [weight] = box.weights;
    const all = this.questions.everything.weight;
    const shares =
      view === all
        ? percent(weight, all)
        : `${percent(weight, view)} of the view, ${percent(weight, all)} of all`;
    const samples = box.counts ? `, ${countText(box.counts[0])}` : "";
    return `${name}: ${weightText(weight)}, ${shares}${samples}`;
  }

  // The heaviest values of the colours' key below a box, with their shares.
  tipValues(box) {
    const key = this.profile.keys.get(this.state.color);
    if (
      !key ||
      box.node === undefined ||
      box.kind === "root" ||
      box.kind === "leaf" ||
      box.tree.measure.compares
    )
      return [];
    const { nodes, rows } = this.profile;
    const codes = this.profile.codes(key);
    const sums = new Float64Array(key.codeCount);
    box.slices[0].forRows(
      rows.firstRow[box.node],
      rows.firstRow[nodes.end[box.node]],
      (row, weight) => (sums[codes[row]] += weight),
    );
    return heaviestCodes(sums, 5).map((code) => [
      `${key.name}=${valueText(key, code)}`,
      percent(sums[code], box.weights[0]),
    ]);
  }
}
