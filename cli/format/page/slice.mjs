// Some rows, always sorted, with running sums: so that the weight of any node is two look-ups.
//
//     rows      null (all rows, by their own numbers), or the numbers of those that are in it
//     weights   weights[i]: the weight of all positions before i
//
// Positions from..to belong to the slice; slices that were split share their arrays.

export class Slice {
  constructor(profile, rows, from, to, weights, samples) {
    this.profile = profile;
    this.rows = rows;
    this.from = from;
    this.to = to;
    this.weights = weights;
    this.samples = samples;
  }

  // The rows that `failed` (filter.mjs) has no bit for, but those of `except`.
  static chosen(profile, failed, except = 0) {
    const { count, weight, samples } = profile.rows;
    const weights = new Float64Array(count + 1);
    const counts = new Float64Array(count + 1);
    const fails = ~except;
    for (let row = 0; row < count; row++) {
      const chosen = (failed[row] & fails) === 0;
      weights[row + 1] = weights[row] + (chosen ? weight[row] : 0);
      counts[row + 1] = counts[row] + (chosen ? samples[row] : 0);
    }
    return new Slice(profile, null, 0, count, weights, counts);
  }

  get weight() {
    return this.weights[this.to] - this.weights[this.from];
  }
  get count() {
    return this.samples[this.to] - this.samples[this.from];
  }

  // The position of the first row from `row` on.
  position(row) {
    const { rows } = this;
    if (rows === null) return row < this.from ? this.from : row > this.to ? this.to : row;
    let low = this.from;
    let high = this.to;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (rows[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Of the rows from `first` to before `last`.
  weightOf(first, last) {
    return this.weights[this.position(last)] - this.weights[this.position(first)];
  }
  countOf(first, last) {
    return this.samples[this.position(last)] - this.samples[this.position(first)];
  }

  // A row with time of a second kind has no count of its own, so both are looked at.
  isLeftOut(at) {
    const { samples, weights } = this;
    return samples[at + 1] === samples[at] && weights[at + 1] === weights[at];
  }

  // Calls back with each chosen row, from the position of `first` to that of `last`.
  forRows(first, last, each) {
    const stop = this.position(last);
    for (let at = this.position(first); at < stop; at++) {
      if (this.isLeftOut(at)) continue;
      each(
        this.rows === null ? at : this.rows[at],
        this.weights[at + 1] - this.weights[at],
        this.samples[at + 1] - this.samples[at],
      );
    }
  }

  // The rows whose code has a 1 in `mask`.
  only(codes, mask) {
    const { rows } = this;
    const order = new Uint32Array(this.to - this.from);
    const weights = new Float64Array(order.length + 1);
    const counts = new Float64Array(order.length + 1);
    const { weight, samples: each } = this.profile.rows;
    let size = 0;
    for (let at = this.from; at < this.to; at++) {
      const row = rows === null ? at : rows[at];
      if (this.isLeftOut(at) || mask[codes[row]] === 0) continue;
      weights[size + 1] = weights[size] + weight[row];
      counts[size + 1] = counts[size] + each[row];
      order[size++] = row;
    }
    return new Slice(this.profile, order, 0, size, weights, counts);
  }

  // A slice for each code that occurs, by code. One counting sort: rows stay sorted within a code.
  split(codes, codeCount) {
    const { rows } = this;
    const start = new Uint32Array(codeCount + 1);
    for (let at = this.from; at < this.to; at++) {
      if (!this.isLeftOut(at)) start[codes[rows === null ? at : rows[at]] + 1] += 1;
    }
    const present = [];
    for (let code = 0; code < codeCount; code++) {
      if (start[code + 1] > 0) present.push(code);
      start[code + 1] += start[code];
    }
    const size = start[codeCount];
    const next = start.slice(0, codeCount);
    const order = new Uint32Array(size);
    for (let at = this.from; at < this.to; at++) {
      if (this.isLeftOut(at)) continue;
      const row = rows === null ? at : rows[at];
      order[next[codes[row]]++] = row;
    }
    const weights = new Float64Array(size + 1);
    const counts = new Float64Array(size + 1);
    const { weight, samples: each } = this.profile.rows;
    for (let at = 0; at < size; at++) {
      weights[at + 1] = weights[at] + weight[order[at]];
      counts[at + 1] = counts[at] + each[order[at]];
    }
    const parts = new Map();
    for (const code of present) {
      parts.set(
        code,
        new Slice(this.profile, order, start[code], start[code + 1], weights, counts),
      );
    }
    return parts;
  }
}
