// Names, numbers, links, colours and files: what leaves the page as text.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readColumns } from "../../cli/format/page/decode.mjs";
import { csvText, foldedText, pprofBytes } from "../../cli/format/page/exports.mjs";
import { NO_FILTER } from "../../cli/format/page/filter.mjs";
import { Profile } from "../../cli/format/page/model.mjs";
import { textOn, valueColor, VALUE_COLORS } from "../../cli/format/page/palette.mjs";
import { Slice } from "../../cli/format/page/slice.mjs";
import { DEFAULT_STATE, readState, writeState } from "../../cli/format/page/state.mjs";
import { bounded, percent, shortName, timeText } from "../../cli/format/page/text.mjs";
import { PAGE, ProfileText, modules, script } from "./encode.mjs";

test("times and shares are as short as they can be", () => {
  assert.deepEqual([0, 950, 12345, 4.56e6, 78.9e9].map(timeText), [
    "0 ns",
    "950 ns",
    "12.3 µs",
    "4.56 ms",
    "78.9 s",
  ]);
  assert.deepEqual(
    [
      [0, 1],
      [1, 1e6],
      [1, 2],
      [999999, 1e6],
      [1, 1],
      [1, 0],
    ].map(([a, b]) => percent(a, b)),
    ["0.0%", "<0.1%", "50.0%", ">99.9%", "100.0%", "0%"],
  );
});

test("long names lose their arguments first, and operators keep their names", () => {
  assert.equal(
    shortName("std::map<int, std::pair<a, b>>::find(int const&) const"),
    "std::map::find const",
  );
  assert.equal(shortName("ns::(anonymous namespace)::work(int)"), "ns::work");
  assert.equal(shortName("a::operator<(b const&)"), "a::operator<");
  assert.equal(shortName("main.(*S).Run"), "main.(*S).Run");
  assert.equal(shortName("java.util.ArrayList.<init>"), "java.util.ArrayList.<init>");
  assert.equal(shortName("<impl a::Trait for b>::call"), "<impl a::Trait for b>::call");
  assert.equal(bounded("x".repeat(10000), 100).length, 100);
  assert.ok(bounded("😀".repeat(100), 51).isWellFormed?.() ?? true);
});

test("a link says what differs from the first view, and gives it back", () => {
  const state = {
    ...DEFAULT_STATE,
    view: "table",
    groups: ["a&b=c", "ключ", "#"],
    search: "x|y%20",
    zoom: ["0:2", "f17"],
    compare: true,
    filter: {
      terms: [{ key: "k", only: ["", null, false, "(unset)"], not: ['"><script>'] }],
      time: [1, 20],
      stack: "^f",
      without: "x",
    },
    a: { ...NO_FILTER, terms: [{ key: "k", only: ["1"], not: [] }] },
    function: 3,
    ascending: true,
    leaves: true,
    icicle: false,
  };
  const { state: back, problem } = readState(writeState(state));
  assert.equal(problem, "");
  assert.deepEqual(back, state);
  assert.equal(writeState(DEFAULT_STATE), "");
});

test("a link that is not ours changes nothing, and says so", () => {
  for (const wrong of [
    "#filter=[[[1,[],[]]]]",
    "#view=other",
    "#groups={}",
    "#filter=%",
    "#function=x",
    "#__proto__=1",
    "#toString=1",
    "#zoom=[1]",
    '#filter=[[],[1,"b"],""]',
    '#filter=[[],null,"("]',
  ]) {
    const { state, problem } = readState(wrong);
    assert.deepEqual(state, { ...DEFAULT_STATE }, wrong);
    assert.match(problem, /left out/, wrong);
  }
  assert.match(readState(`#search=${"x".repeat(30000)}`).problem, /too long/);
});

test("text on every colour of a value can be read", () => {
  const luminance = (color) => {
    const parts = [1, 3, 5]
      .map((at) => parseInt(color.slice(at, at + 2), 16) / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  for (const safe of [false, true]) {
    for (let rank = 0; rank <= VALUE_COLORS; rank++) {
      const color = valueColor(rank, safe);
      const [light, dark] = [luminance(color), luminance("#15181c")];
      assert.equal(textOn(color), "#15181c");
      assert.ok((light + 0.05) / (dark + 0.05) >= 4.5, `${color} on ink`);
    }
  }
});

const text = new ProfileText();
const thread = text.thread(10, 11, "worker", "shop");
text.sample(
  ["main", "a;b"],
  { tenant: "=1+1", route: 'x,"y"' },
  { weight: 2 ** 50, count: 2, thread, time: 5 },
);
text.sample(["main", "a;b"], { tenant: "=1+1", route: 'x,"y"' }, { weight: 5, thread, time: 6 });
text.sample(["main"], {}, { weight: 7, outcome: 3, thread });
const profile = new Profile(readColumns(text.bytes()), { mode: "cpu", period_ns: 10 });
const all = Slice.chosen(profile, new Uint32Array(profile.rows.count));
const sliceOf = (made) => {
  const of = new Profile(readColumns(made.bytes()));
  return Slice.chosen(of, new Uint32Array(of.rows.count));
};

test("folded: groups in front, equal stacks added up", () => {
  assert.equal(
    foldedText(profile, all, [profile.keys.get("tenant")]),
    `tenant=<unreadable>;main 7\ntenant==1+1;main;a\\x3bb ${2 ** 50 + 5}\n`,
  );
});

test("CSV: the columns and the protection of -o X.csv", () => {
  const lines = csvText(profile, all).split("\r\n");
  assert.equal(
    lines[0],
    "time_ns,samples,function,module,stack_end,outcome,comm,pid,thread_name,thread_id,route,tenant",
  );
  const row = `${2 ** 50 + 5},3,a\\x3bb,,complete,labelled,shop,10,worker,11,` + `"x,""y""",'=1+1`;
  assert.ok(lines.includes(row), lines.join("\n"));
  assert.ok(
    lines.some((line) => line.endsWith(",torn,shop,10,worker,11,<unreadable>,<unreadable>")),
  );
  // What spreadsheets would take for a formula, for a new cell or for a mark of ours.
  const odd = new ProfileText();
  for (const value of ["=1", "+1", "-1", "@x", "\uff1d1", "\uff0b1", "'x", "a;b", " x ", ""]) {
    odd.sample(["f"], { value });
  }
  const cells = csvText(new Profile(readColumns(odd.bytes())), sliceOf(odd))
    .trim()
    .split("\r\n")
    .slice(1)
    .map((line) => line.split(",").at(-1));
  const wanted = ["'=1", "'+1", "'-1", "'@x", "'\uff1d1", "'\uff0b1", "''x", "a\\x3bb"];
  assert.deepEqual(cells.sort(), [...wanted, "\\x20x\\x20", "<empty>"].sort());
});

test("pprof: the message begins with its sample types, and says where it is from", async () => {
  const facts = { mode: "cpu", unit: "nanoseconds", version: "0.1", command: "labelscope record" };
  const of = new Profile(readColumns(text.bytes()), { ...facts, counted: "samples" });
  const bytes = await pprofBytes(of, all, "tenant = acme").arrayBuffer();
  assert.equal(new Uint8Array(bytes)[0], (1 << 3) | 2);
  const said = new TextDecoder().decode(bytes);
  for (const line of ["labelscope: 0.1", "command: labelscope record", "part: tenant = acme"]) {
    assert.ok(said.includes(line), line);
  }
});

test("all modules become one scope: no name twice, none used before its module", () => {
  const owner = new Map();
  for (const name of modules()) {
    const code = readFileSync(join(PAGE, name), "utf8");
    for (const [, used] of code.matchAll(/^import [^"]*"\.\/([^"]*)"/gm))
      assert.ok([...owner.values()].includes(used), `${name} uses ${used}, which comes later`);
    for (const [, made] of code.matchAll(
      /^(?:export )?(?:async )?(?:function|const|let|class) +([A-Za-z_$][\w$]*)/gm,
    )) {
      assert.ok(!owner.has(made), `${made} is in ${name} and in ${owner.get(made)}`);
      owner.set(made, name);
    }
  }
  assert.doesNotMatch(
    script(),
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(|<\/script/i,
  );
});
