// Sums by function, by label value, and by time; each is one pass.
import { NO_TIME } from "./model.mjs";

// Self and total of every function. Total counts a sample once, however often a function is on its
// stack: only the outermost node of a function counts.
export function functionTotals(profile, slice) {
  const { nodes, rows } = profile;
  const { firstRow } = rows;
  const { weights } = slice;
  const self = new Float64Array(profile.functions.count);
  const total = new Float64Array(profile.functions.count);
  const all = slice.rows === null;
  for (let node = 1; node < nodes.count; node++) {
    const fn = nodes.function[node];
    const first = all ? firstRow[node] : slice.position(firstRow[node]);
    const end = all ? firstRow[nodes.end[node]] : slice.position(firstRow[nodes.end[node]]);
    if (end === first) continue;
    const stop = all ? firstRow[node + 1] : slice.position(firstRow[node + 1]);
    self[fn] += weights[stop] - weights[first];
    if (!nodes.repeated[node]) total[fn] += weights[end] - weights[first];
  }
  return { self, total };
}

// The function table with one key's heaviest values as columns, and the rest in one more.
export function pivotTotals(profile, slice, key, most = 8) {
  const codes = profile.codes(key);
  const { weights } = slice;
  const sums = codeSums(profile, slice, key);
  const heaviest = heaviestCodes(sums, most);
  const classOf = new Uint8Array(key.codeCount).fill(heaviest.length);
  heaviest.forEach((code, index) => (classOf[code] = index));
  const others = sums.reduce(
    (n, weight, code) => n + (weight > 0 && !heaviest.includes(code) ? 1 : 0),
    0,
  );
  const columns = [];
  const running = new Float64Array(weights.length);
  for (let column = 0; column < heaviest.length + (others > 0 ? 1 : 0); column++) {
    let sum = 0;
    for (let row = 0; row < codes.length; row++) {
      if (classOf[codes[row]] === column) sum += weights[row + 1] - weights[row];
      running[row + 1] = sum;
    }
    const part = { weights: running, rows: null };
    columns.push({
      code: column < heaviest.length ? heaviest[column] : -1,
      whole: sum,
      ...functionTotals(profile, part),
    });
  }
  return { columns, others };
}

// The weight of every value of a key in a slice of all rows.
export function codeSums(profile, slice, key) {
  const { rows } = profile;
  const { weights } = slice;
  const sums = new Float64Array(key.codeCount);
  if (key.byThread === null || key.bySet === null) {
    const of = key.byThread === null ? key.bySet : key.byThread;
    const part = sliceSums(profile, slice)[key.byThread === null ? "bySet" : "byThread"];
    for (let i = 0; i < of.length; i++) sums[of[i]] += part[i];
    return sums;
  }
  const codes = profile.codes(key);
  for (let row = 0; row < rows.count; row++) sums[codes[row]] += weights[row + 1] - weights[row];
  return sums;
}

// By label set and by thread, once for each slice: all keys come from there.
function sliceSums(profile, slice) {
  if (slice.sums) return slice.sums;
  const { rows } = profile;
  const { weights } = slice;
  const bySet = new Float64Array(profile.sets.count);
  const byThread = new Float64Array(profile.threads.count);
  for (let row = 0; row < rows.count; row++) {
    const weight = weights[row + 1] - weights[row];
    bySet[rows.set[row]] += weight;
    byThread[rows.thread[row]] += weight;
  }
  slice.sums = { bySet, byThread };
  return slice.sums;
}

// Codes with weight, the heaviest first; equal ones by their number.
export function heaviestCodes(sums, most = Infinity) {
  const codes = [];
  for (let code = 0; code < sums.length; code++) if (sums[code] > 0) codes.push(code);
  codes.sort((a, b) => sums[b] - sums[a] || a - b);
  return codes.length > most ? codes.slice(0, most) : codes;
}

// Weight by time, `bins` of them over the whole recording, and by class of a row (colours).
export function histogram(profile, slice, bins, classes = null, classCount = 1) {
  const { rows } = profile;
  const { weights } = slice;
  const sums = Array.from({ length: classCount }, () => new Float64Array(bins));
  const scale = bins / rows.ticks;
  for (let row = 0; row < rows.count; row++) {
    const weight = weights[row + 1] - weights[row];
    if (weight === 0 || rows.time[row] === NO_TIME) continue;
    sums[classes === null ? 0 : classes[row]][Math.floor(rows.time[row] * scale)] += weight;
  }
  return sums;
}

// The weight of all stacks that have one of these functions.
export function matchedWeight(profile, slice, matches) {
  const { nodes, rows } = profile;
  let sum = 0;
  for (let node = 1; node < nodes.count;) {
    if (matches[nodes.function[node]]) {
      sum += slice.weightOf(rows.firstRow[node], rows.firstRow[nodes.end[node]]);
      node = nodes.end[node];
    } else {
      node += 1;
    }
  }
  return sum;
}
