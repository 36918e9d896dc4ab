// The page's sums against the plainest way to make them: maps over the samples as they were given.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { DamagedPage, readColumns, unpack } from "../../cli/format/page/decode.mjs";
import {
  NO_FILTER,
  both,
  failedBits,
  matchingFunctions,
  withValue,
} from "../../cli/format/page/filter.mjs";
import { Profile } from "../../cli/format/page/model.mjs";
import { Questions } from "../../cli/format/page/questions.mjs";
import { Slice } from "../../cli/format/page/slice.mjs";
import { DEFAULT_STATE } from "../../cli/format/page/state.mjs";
import {
  codeSums,
  functionTotals,
  histogram,
  matchedWeight,
  pivotTotals,
} from "../../cli/format/page/tables.mjs";
import {
  CallTree,
  FunctionTree,
  InvertedTree,
  boxName,
  standardErrors,
  tokenText,
} from "../../cli/format/page/tree.mjs";
import { ProfileText, container, numbers } from "./encode.mjs";

// Recursion, empty and missing values, unreadable samples, samples without time.
function randomText(seed) {
  const pick = numbers(seed);
  const text = new ProfileText();
  const threads = [
    0,
    text.thread(10, 11, "worker", "shop"),
    text.thread(10, 12, "", "shop"),
    text.thread(20, 20, "main", "db"),
  ];
  for (let i = 0; i < 150; i++) {
    const stack = Array.from({ length: 1 + pick(8) }, () => `f${pick(6)}`);
    const labels = {};
    if (pick(4) > 0) labels.tenant = ["a", "b", "", "c"][pick(4)];
    if (pick(3) > 0) labels.route = `/r${pick(12)}`;
    if (pick(9) === 0) labels.pid = "mine";
    const unreadable = pick(10) === 0;
    text.sample(stack, unreadable ? {} : labels, {
      weight: pick(5) === 0 ? 2 ** 40 + pick(1000) : pick(100000),
      count: 1 + pick(3),
      thread: threads[pick(4)],
      outcome: unreadable ? 3 : Object.keys(labels).length > 0 ? 0 : 1,
      ...(pick(5) > 0 ? { time: pick(500) } : {}),
    });
  }
  return text;
}

const load = (text, facts = {}) => new Profile(readColumns(text.bytes()), facts);

// What the page is to say about a sample.
function valueOf(text, sample, key) {
  if (Object.hasOwn(sample.labels, key)) return sample.labels[key];
  const thread = text.threads[sample.thread];
  const own = {
    pid: thread.pid,
    thread_id: thread.tid,
    thread_name: thread.name,
    comm: thread.comm,
  }[key];
  if (own !== undefined && own !== "" && sample.thread !== 0) return String(own);
  return sample.outcome > 1 ? false : null;
}

function passes(text, sample, filter) {
  return (
    filter.terms.every(({ key, only, not }) => {
      const value = valueOf(text, sample, key);
      return (only.length === 0 || only.includes(value)) && !not.includes(value);
    }) &&
    (!filter.time || (sample.time >= filter.time[0] && sample.time < filter.time[1])) &&
    (!filter.stack || sample.stack.some((name) => new RegExp(filter.stack, "iu").test(name)))
  );
}

const FILTERS = [
  NO_FILTER,
  { ...NO_FILTER, terms: [{ key: "tenant", only: ["a", ""], not: [] }] },
  { ...NO_FILTER, terms: [{ key: "tenant", only: [null, false], not: [] }] },
  {
    ...NO_FILTER,
    terms: [
      { key: "route", only: [], not: ["/r1", null] },
      { key: "pid", only: ["10", "mine"], not: [] },
    ],
  },
  { terms: [{ key: "comm", only: ["shop"], not: [] }], time: [100, 300], stack: "F[13]$" },
  { ...NO_FILTER, terms: [{ key: "tenant", only: ["of nobody"], not: [] }] },
];

const sum = (samples) => samples.reduce((total, sample) => total + sample.weight, 0);

// Every path of a tree with its weight.
function paths(profile, box, path = [], out = new Map()) {
  for (const child of box.children(0).shown) {
    const here = [...path, boxName(profile, child)];
    out.set(here.join(";"), child.weights[0]);
    paths(profile, child, here, out);
  }
  return out;
}

function naivePaths(samples, namesOf) {
  const out = new Map();
  for (const sample of samples) {
    const names = namesOf(sample);
    for (let i = 1; i <= names.length; i++) {
      const path = names.slice(0, i).join(";");
      out.set(path, (out.get(path) ?? 0) + sample.weight);
    }
  }
  for (const [path, weight] of out) if (weight === 0) out.delete(path);
  return out;
}

const sorted = (map) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

for (let seed = 1; seed <= 12; seed++) {
  describe(`a random profile, ${seed}`, () => {
    const text = randomText(seed);
    const profile = load(text);
    for (const [number, filter] of FILTERS.entries()) {
      const samples = text.samples.filter((sample) => passes(text, sample, filter));
      const { bits } = failedBits(profile, filter);
      const slice = Slice.chosen(profile, bits);
      const key = (name) => profile.keys.get(name);
      const group = (name) => (sample) => `${name}=${tokenText(valueOf(text, sample, name))}`;

      test(`filter ${number}: weight and samples`, () => {
        assert.equal(slice.weight, sum(samples));
        assert.equal(
          slice.count,
          samples.reduce((total, sample) => total + sample.count, 0),
        );
      });
      test(`filter ${number}: call tree, alone and under groups`, () => {
        assert.deepEqual(
          sorted(paths(profile, new CallTree(profile, [slice]).root)),
          sorted(naivePaths(samples, (s) => s.stack)),
        );
        const tree = new CallTree(profile, [slice], { groups: [key("tenant"), key("pid")] });
        assert.deepEqual(
          sorted(paths(profile, tree.root)),
          sorted(naivePaths(samples, (s) => [group("tenant")(s), group("pid")(s), ...s.stack])),
        );
      });
      test(`filter ${number}: groups as leaves`, () => {
        const tree = new CallTree(profile, [slice], {
          groups: [key("route"), key("comm")],
          leaves: true,
        });
        assert.deepEqual(
          sorted(paths(profile, tree.root)),
          sorted(naivePaths(samples, (s) => [...s.stack, group("route")(s), group("comm")(s)])),
        );
      });
      test(`filter ${number}: upside down`, () => {
        const tree = new InvertedTree(profile, [slice], { groups: [key("tenant")] });
        assert.deepEqual(
          sorted(paths(profile, tree.root)),
          sorted(naivePaths(samples, (s) => [group("tenant")(s), ...[...s.stack].reverse()])),
        );
      });
      test(`filter ${number}: what is too small is still in the size of the rest`, () => {
        const tree = new CallTree(profile, [slice], { groups: [key("route")] });
        const least = slice.weight / 8;
        const { shown, rest } = tree.root.children(least);
        assert.ok(shown.every((box) => box.size >= least));
        const size = shown.reduce((total, box) => total + box.size, rest?.size ?? 0);
        assert.ok(Math.abs(size - slice.weight) <= 1e-6 * slice.weight);
        // And how many they are, and each of them where the rest is opened.
        const all = tree.root.children(0).shown.map((box) => box.key);
        assert.equal(shown.length + (rest?.count ?? 0), all.length);
        const opened = rest ? rest.children(0).shown.map((box) => box.key) : [];
        assert.deepEqual([...shown.map((box) => box.key), ...opened], all);
      });
      test(`filter ${number}: functions count once a sample`, () => {
        const { self, total } = functionTotals(profile, slice);
        for (let fn = 0; fn < profile.functions.count; fn++) {
          const name = profile.functions.name(fn);
          assert.equal(
            total[fn],
            sum(samples.filter((s) => s.stack.includes(name))),
            `total of ${name}`,
          );
          assert.equal(
            self[fn],
            sum(samples.filter((s) => s.stack.at(-1) === name)),
            `self of ${name}`,
          );
        }
      });
      test(`filter ${number}: a column for each value`, () => {
        const { columns, others } = pivotTotals(profile, slice, key("route"), 3);
        const shown = columns.filter((column) => column.code >= 0);
        for (const column of columns) {
          const tokens = shown.map((one) => key("route").token(one.code));
          const of = samples.filter((s) =>
            column.code < 0
              ? !tokens.includes(valueOf(text, s, "route"))
              : valueOf(text, s, "route") === key("route").token(column.code),
          );
          assert.equal(column.whole, sum(of));
          for (let fn = 0; fn < profile.functions.count; fn++) {
            assert.equal(
              column.total[fn],
              sum(of.filter((s) => s.stack.includes(profile.functions.name(fn)))),
            );
          }
        }
        assert.equal(columns.length - shown.length, others > 0 ? 1 : 0);
      });
      test(`filter ${number}: values of every key`, () => {
        for (const one of profile.keys.values()) {
          const sums = codeSums(profile, slice, one);
          sums.forEach((weight, code) => {
            if (one.name === "labelscope.outcome") return;
            assert.equal(
              weight,
              sum(samples.filter((s) => valueOf(text, s, one.name) === one.token(code))),
              `${one.name} ${code}`,
            );
          });
        }
      });
      test(`filter ${number}: callers and callees`, () => {
        const fn = 2;
        const name = profile.functions.name(fn);
        const has = samples.filter((s) => s.stack.includes(name));
        const callees = new FunctionTree(profile, [slice], fn, "callees");
        assert.equal(callees.root.weights[0], sum(has));
        assert.deepEqual(
          sorted(paths(profile, callees.root)),
          sorted(naivePaths(has, (s) => s.stack.slice(s.stack.indexOf(name) + 1))),
        );
        const callers = new FunctionTree(profile, [slice], fn, "callers");
        assert.deepEqual(
          sorted(paths(profile, callers.root)),
          sorted(naivePaths(has, (s) => s.stack.slice(0, s.stack.indexOf(name)).reverse())),
        );
      });
      test(`filter ${number}: search and time`, () => {
        const regexp = /f[24]/iu;
        assert.equal(
          matchedWeight(profile, slice, matchingFunctions(profile, "f[24]").matches),
          sum(samples.filter((s) => s.stack.some((one) => regexp.test(one)))),
        );
        const [bars] = histogram(profile, slice, 7);
        assert.equal(
          bars.reduce((a, b) => a + b, 0),
          sum(samples.filter((s) => s.time !== undefined)),
        );
      });
    }
    test("a comparison has both parts, and shares of each", () => {
      const [a, b] = [FILTERS[1], FILTERS[3]].map((filter) =>
        Slice.chosen(profile, failedBits(profile, filter).bits),
      );
      const tree = new CallTree(profile, [a, b], { groups: [profile.keys.get("comm")] });
      for (const [index, filter] of [FILTERS[1], FILTERS[3]].entries()) {
        const samples = text.samples.filter((sample) => passes(text, sample, filter));
        for (const box of tree.root.children(0).shown) {
          assert.equal(
            box.weights[index],
            sum(
              samples.filter(
                (s) => `comm=${tokenText(valueOf(text, s, "comm"))}` === boxName(profile, box),
              ),
            ),
          );
        }
      }
      assert.ok(Math.abs(tree.root.size - 1) < 1e-9);
    });
    test("what a label can be filtered to is what its own filter does not hide", () => {
      const state = { ...DEFAULT_STATE, filter: FILTERS[3] };
      const entry = new Questions(profile)
        .labels(state, "")
        .find((one) => one.key.name === "route");
      const others = { ...FILTERS[3], terms: FILTERS[3].terms.slice(1) };
      assert.equal(entry.whole, sum(text.samples.filter((sample) => passes(text, sample, others))));
    });
  });
}

test("thousands of values that are too narrow open in steps, and a path leads to each", () => {
  const text = new ProfileText();
  for (let i = 0; i < 12000; i++) text.sample(["f"], { id: `v${i}` });
  const profile = load(text);
  const slice = Slice.chosen(profile, new Uint32Array(profile.rows.count));
  const tree = () => new CallTree(profile, [slice], { groups: [profile.keys.get("id")] });
  let box = tree().root;
  const seen = [];
  // A thousand pixels, of which a box needs a half.
  for (let depth = 0; box.kind !== "group"; depth++) {
    assert.ok(depth < 6);
    const { shown, rest } = box.children(box.size / 2000);
    const whole = shown.reduce((sum, one) => sum + one.size, rest?.size ?? 0);
    assert.equal(whole, box.size);
    box = shown.at(-1) ?? rest;
    seen.push(boxName(profile, box));
  }
  assert.deepEqual(seen.slice(0, 2), ["other (12,000)", "other (500)"]);
  let found = tree().root;
  for (const key of box.path) found = found.child(key);
  assert.equal(boxName(profile, found), boxName(profile, box));
  assert.equal(tree().root.child("~20000-"), undefined);
  // Closed, it has below it what all of its values have together, and a path leads there, too.
  const { root } = tree();
  const { rest } = root.children(root.size / 2000);
  const [below] = rest.pool().children(0).shown;
  assert.equal(boxName(profile, below), "f");
  assert.deepEqual([below.size, below.depth, below.counts[0]], [root.size, 2, 12000]);
  const again = below.path.reduce((at, key) => at.child(key), tree().root);
  assert.equal(boxName(profile, again), "f");
});

test("each of forty filters counts, and its own label shows what it hides", () => {
  const text = new ProfileText();
  const names = Array.from({ length: 40 }, (_, i) => `k${i}`);
  const labels = (odd) => Object.fromEntries(names.map((name, i) => [name, i === odd ? "x" : "a"]));
  for (let i = 0; i < names.length; i++) text.sample(["f"], labels(i));
  text.sample(["f"], labels(-1));
  const profile = load(text);
  const filter = { ...NO_FILTER, terms: names.map((key) => ({ key, only: ["a"], not: [] })) };
  const slice = Slice.chosen(profile, failedBits(profile, filter).bits);
  assert.equal(slice.count, 1);
  const entries = new Questions(profile).labels({ ...DEFAULT_STATE, filter }, "");
  for (const { key, whole, sums } of entries.filter((entry) => !entry.key.own)) {
    assert.equal(whole, 2000, key.name);
    assert.equal(sums[key.codeOf("x")], 1000, key.name);
  }
});

test("stacks with and without a function, also where two filters are one", () => {
  const text = new ProfileText();
  text.sample(["main", "read"]).sample(["main", "read", "wait"]).sample(["main", "work"]);
  const profile = load(text);
  const count = (filter) => Slice.chosen(profile, failedBits(profile, filter).bits).count;
  assert.equal(count({ ...NO_FILTER, stack: "read" }), 2);
  assert.equal(count({ ...NO_FILTER, without: "^read$" }), 1);
  assert.equal(count({ ...NO_FILTER, stack: "read", without: "wait" }), 1);
  const joined = both({ ...NO_FILTER, stack: "read" }, { ...NO_FILTER, stack: "wait" });
  assert.equal(count(joined), 1);
  assert.equal(count({ ...NO_FILTER, stack: "(?=x)" }), 0);
});

test("what is compared at first are two real values", () => {
  const text = new ProfileText();
  for (let i = 0; i < 9; i++) text.sample(["f"], {});
  for (let i = 0; i < 8; i++) text.sample(["f"], {}, { outcome: 3 });
  text.sample(["f"], { tenant: "a" }).sample(["f"], { tenant: "b" }).sample(["f"], { tenant: "b" });
  const questions = new Questions(load(text, { best_key: "tenant" }));
  const { a, b } = questions.comparison(DEFAULT_STATE);
  assert.deepEqual([a.terms[0].only, b.terms[0].only], [["b"], ["a"]]);
  const one = new ProfileText().sample(["f"], {}).sample(["f"], { tenant: "a" });
  assert.equal(new Questions(load(one, { best_key: "tenant" })).comparison(DEFAULT_STATE), null);
});

test("of what is not sampled no difference is chance", () => {
  const text = new ProfileText().sample(["f"], { tenant: "a" }).sample(["g"], { tenant: "b" });
  const sampled = new Questions(load(text));
  assert.ok(Math.abs(sampled.errors([1, 0], [1, 1])) < 2);
  const counted = new Questions(load(text, { counted: "inuse_objects" }));
  assert.equal(counted.errors([1, 0], [1, 1]), -Infinity);
  assert.equal(counted.errors([1, 1], [2, 2]), 0);
});

test("the time strip is as long as the recording", () => {
  const text = new ProfileText().sample(["f"], {}, { time: 100 });
  const profile = load(text, { tick_ns: 1e6, duration_ns: 1e9 });
  assert.equal(profile.rows.ticks, 1000);
  const [bars] = histogram(profile, Slice.chosen(profile, new Uint32Array(1)), 10);
  assert.equal(
    bars.findIndex((weight) => weight > 0),
    1,
  );
});

test("clicks on values add, take away and turn round", () => {
  let filter = withValue(NO_FILTER, "k", "a", "only");
  filter = withValue(filter, "k", "b", "only");
  assert.deepEqual(filter.terms, [{ key: "k", only: ["a", "b"], not: [] }]);
  filter = withValue(filter, "k", "a", "not");
  assert.deepEqual(filter.terms, [{ key: "k", only: ["b"], not: ["a"] }]);
  filter = withValue(withValue(filter, "k", "a", "not"), "k", "b", "only");
  assert.deepEqual(filter.terms, []);
});

test("two filters that exclude each other choose nothing", () => {
  const a = { ...NO_FILTER, terms: [{ key: "tenant", only: ["a"], not: [] }] };
  const b = { ...NO_FILTER, terms: [{ key: "tenant", only: ["b"], not: [] }] };
  const profile = load(
    new ProfileText().sample(["f"], { tenant: "a" }).sample(["f"], { tenant: "b" }),
  );
  assert.equal(Slice.chosen(profile, failedBits(profile, both(a, b)).bits).weight, 0);
});

test("equal shares differ by nothing, and few samples say little", () => {
  assert.equal(standardErrors([10, 10], [100, 100]), 0);
  assert.ok(Math.abs(standardErrors([1, 3], [10, 10])) < 2);
  assert.ok(standardErrors([100, 300], [1000, 1000]) > 5);
});

test("a stack of ten thousand frames", () => {
  const stack = Array.from({ length: 10000 }, (_, i) => `f${i % 7}`);
  const profile = load(new ProfileText().sample(stack).sample(["f0"]));
  const { total } = functionTotals(profile, Slice.chosen(profile, new Uint32Array(2)));
  assert.equal(total[0], 2000);
});

test("no sample at all", () => {
  const profile = load(new ProfileText());
  const slice = Slice.chosen(profile, new Uint32Array(0));
  assert.deepEqual(new CallTree(profile, [slice]).root.children(0).shown, []);
});

test("a damaged data block says so, wherever it is cut or changed", async () => {
  const bytes = randomText(1).bytes();
  const pick = numbers(7);
  let refused = 0;
  for (let i = 0; i < 400; i++) {
    const changed = Buffer.from(i % 2 === 0 ? bytes.subarray(0, pick(bytes.length)) : bytes);
    if (i % 2 === 1) changed[pick(changed.length)] ^= 1 << pick(8);
    try {
      const profile = load({ bytes: () => changed });
      functionTotals(profile, Slice.chosen(profile, new Uint32Array(profile.rows.count)));
    } catch (error) {
      assert.ok(error instanceof DamagedPage, error.stack);
      refused += 1;
    }
  }
  assert.ok(refused > 200);
  const packed = gzipSync(bytes).toString("base64");
  await assert.rejects(unpack(packed.slice(0, packed.length / 2)), DamagedPage);
  assert.deepEqual(Buffer.from(await unpack(packed)), bytes);
});

test("sections and fields of later versions are skipped", () => {
  const sections = new ProfileText().sample(["f"]).sections();
  assert.equal(
    new Profile(readColumns(container({ "of tomorrow": Buffer.from([1, 2]), ...sections }))).rows
      .count,
    1,
  );
});
