// How boxes of flame graphs look and what they say, by the state.
import { boxLabel } from "./flame.mjs";
import {
  OTHER,
  SIDE_COLORS,
  UNSET_COLOR,
  differenceColor,
  functionColor,
  textOn,
  valueColor,
} from "./palette.mjs";
import { CLASS_OTHER, CLASS_UNREADABLE, CLASS_UNSET } from "./questions.mjs";
import { heaviestCodes } from "./tables.mjs";
import { counted, percent, weightText } from "./text.mjs";
import { boxName, standardErrors, valueText } from "./tree.mjs";

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
    if (part === CLASS_UNSET || part === CLASS_UNREADABLE) return UNSET_COLOR;
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
    return this.state.compare ? "A and B" : `all, ${weightText(box.weights[0])}`;
  }

  boxColor(box) {
    const measure = box.tree.measure;
    if (measure.compares) {
      const counts =
        box.counts ??
        box.weights.map(
          (weight, i) => (weight / (measure.wholes[i] || 1)) * measure.slices[i].count,
        );
      const errors = standardErrors(
        counts,
        measure.slices.map((slice) => slice.count),
      );
      const color = differenceColor(
        measure.share(box.weights, 0),
        measure.share(box.weights, 1),
        box.kind === "root" ? 0 : errors,
        this.dark,
      );
      return [{ color, share: 1, ink: textOn(color) }];
    }
    if (box.kind === "root")
      return [
        {
          color: this.dark ? "#3b4048" : "#dfe3e8",
          share: 1,
          ink: this.dark ? "#e8eaed" : "#15181c",
        },
      ];
    const key = this.profile.keys.get(this.state.color);
    if (box.groupKey) {
      if (key && key !== box.groupKey && box.kind === "group") return this.shares(box, key);
      const part = this.questions.classes(box.groupKey)[box.code];
      return [{ color: this.classColor(part), share: 1, hatched: part > CLASS_OTHER }];
    }
    if (key && box.node !== undefined) return this.shares(box, key);
    const { functions } = this.profile;
    return [
      {
        color: functionColor(
          functions.name(box.function),
          functions.module(box.function),
          functions.kind[box.function],
          this.safe,
          this.dark,
        ),
        share: 1,
      },
    ];
  }

  // A box in the colours of the values that it is made of.
  shares(box, key) {
    const { nodes, rows } = this.profile;
    const shares = this.questions.classShares(
      key,
      box.slices[0],
      rows.firstRow[box.node],
      rows.firstRow[nodes.end[box.node]],
    );
    return shares.map(([part, share]) => ({
      color: this.classColor(part),
      share,
      hatched: part > CLASS_OTHER,
    }));
  }

  describe(box) {
    if (box.kind === "rest") return "Boxes that are too small to show: zoom in to see them";
    const measure = box.tree.measure;
    const name = boxLabel(this.profile, box);
    if (measure.compares) {
      const [a, b] = [0, 1].map((side) => percent(measure.share(box.weights, side), 1));
      return `${name}: A ${a}, B ${b}`;
    }
    const samples = box.counts ? `, ${counted(box.counts[0], "sample", "samples")}` : "";
    const share = percent(box.weights[0], measure.wholes[0]);
    return `${name}: ${weightText(box.weights[0])}, ${share}${samples}`;
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
