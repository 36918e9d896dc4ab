// The page in a browser, used as somebody uses it: mouse, keys, links, downloads. Its numbers are
// held against the samples that it was made from.
import assert from "node:assert/strict";
import { mkdtempSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Browser, findBrowser } from "./browser.mjs";
import { FACTS, ProfileText, pageText } from "./encode.mjs";

const program = findBrowser();
const folder = mkdtempSync(join(tmpdir(), "labelscope-pages-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function shop() {
  const text = new ProfileText();
  const worker = text.thread(100, 101, "worker", "shop");
  const other = text.thread(100, 102, "other", "shop");
  const add = (count, stack, labels, more = {}) => {
    for (let i = 0; i < count; i++)
      text.sample(stack, labels, {
        weight: 1e7,
        thread: worker,
        time: text.samples.length * 10,
        ...more,
      });
  };
  add(40, ["main", "serve", "search", "count"], { tenant: "acme", route: "/search" });
  add(20, ["main", "serve", "checkout"], { tenant: "acme", route: "/checkout" });
  add(20, ["main", "serve", "search"], { tenant: "globex", route: "/search" });
  add(
    10,
    ["main", "serve", "checkout", "sign"],
    { tenant: "globex", route: "/checkout" },
    { thread: other },
  );
  add(6, ["main", "idle"], {});
  add(4, ["main", "serve"], {}, { outcome: 3 });
  return text;
}

const hostile = [
  "</script><script>window.hacked=1</script>",
  "<img src=x onerror=window.hacked=1>",
  "\"'><svg onload=window.hacked=1>",
  "javascript:window.hacked=1",
  "__proto__",
  "constructor",
  "x".repeat(10000),
  "\\u{202e}gnp.exe",
  "(unset)",
  "🦀 ключ 鍵",
  "a\\x00b",
  "]]>--><!--<script>",
  "=1+1",
];

// Runs in the page: texts whose colour is too near to what they stand on.
const poorTexts = function () {
  const parts = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const over = ([r, g, b, a = 1], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) =>
      c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const path = [];
    for (let at = element; at; at = at.parentElement) path.unshift(at);
    let color = [255, 255, 255];
    for (const at of path) {
      const style = getComputedStyle(at);
      color = over(parts(style.backgroundColor), color);
      // A bar lies behind the text beside it.
      const bar = at.querySelector(":scope > .bar");
      if (bar && !at.matches("main")) {
        const own = getComputedStyle(bar);
        const [r, g, b, a = 1] = parts(own.backgroundColor);
        color = over([r, g, b, a * Number(own.opacity)], color);
      }
    }
    return color;
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.data.trim() !== "",
    );
    if (!text || element.closest("script, noscript, .unseen, [hidden]") || element.disabled)
      continue;
    const area = element.getBoundingClientRect();
    if (area.width < 1 || getComputedStyle(element).opacity === "0") continue;
    const under = ground(element);
    const [a, b] = [light(over(parts(getComputedStyle(element).color), under)), light(under)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5)
      poor.push(`${element.className} ${element.textContent.slice(0, 30)} ${contrast.toFixed(2)}`);
  }
  return poor;
};
const smallTargets = function () {
  return [...document.querySelectorAll("button, select, input, summary")]
    .filter((element) => !element.closest("[hidden]") && element.offsetParent !== null)
    .map((element) => [element, element.getBoundingClientRect()])
    .filter(([, { width, height }]) => width > 0 && (width < 24 || height < 24))
    .map(
      ([element, { width, height }]) =>
        `${element.id || element.className || element.textContent} ${width}x${height}`,
    );
};

describe("the page in a browser", { skip: program ? false : "there is no chromium" }, () => {
  let browser;
  let page;
  const file = join(folder, "shop.html");
  before(async () => {
    writeFileSync(
      file,
      pageText(shop().bytes(), {
        ...FACTS,
        title: "shop, pid 100, 1 s, 14 Nov 2023",
        duration_ns: 1e9,
        best_key: "tenant",
        part: "only tenant=acme",
        counters: { "of-other-processes": 7 },
        counter_words: { "of-other-processes": "events while another process ran" },
      }),
    );
    browser = await Browser.start(program);
    page = await browser.page();
  });
  after(() => browser?.close());

  const text = (selector) =>
    page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`);
  const press = (selector) =>
    page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
  // Keys and clicks take their time to arrive.
  const shows = (selector, wanted) =>
    page
      .until(
        `${wanted}.test(document.querySelector(${JSON.stringify(selector)})?.textContent ?? "")`,
        15,
      )
      .catch(async () => assert.match(await text(selector), wanted));
  const amount = () => text("#chips .amount");
  // The value of a label in the list, and the button that leaves it out.
  const value = (key, name) =>
    "[...document.querySelectorAll('#rail .key')].find((s) => s.getAttribute('aria-label') " +
    `=== 'label ${key}')` +
    ".querySelectorAll('li').values().find((li) => li.querySelector('.text').textContent " +
    `=== '${name}')`;
  const state = () => page.evaluate("location.hash");
  const choose = (id, option) =>
    page.evaluate(
      `(() => { const s = document.getElementById('${id}'); s.value = '${option}'; s.` +
        "dispatchEvent(new Event('change')); })()",
    );

  test("head, labels and totals", async () => {
    await page.open(file);
    await shows("#title", /^shop, pid 100, 1 s, 14 Nov 2023$/);
    await shows("#facts-details", /commandlabelscope record -p 4242/);
    await shows("#facts-line", /ledger$/);
    await shows(
      "#facts-line",
      /100 samples.*cpu-clock at 99 Hz.*by bpf.*97\.0% of stacks complete/,
    );
    await shows("#facts-details", /10 s of CPU time/);
    await shows("#facts-details", /events while another process ran7/);
    await shows("#facts-line", /a part: only tenant=acme/);
    // The shares of the telling label are in sight on a narrow screen, too.
    await shows("#legend", /acme 60\.0%.*globex 30\.0%/);
    assert.ok(
      await page.evaluate(
        "(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)(document." +
          "querySelector('.flame'))",
      ),
    );
    assert.equal(await amount(), "1.00 s of CPU time");
    assert.match(await page.evaluate(`${value("tenant", "acme")}.textContent`), /60\.0%/);
    assert.match(await page.evaluate(`${value("tenant", "(unset)")}.textContent`), /6\.0%/);
    assert.match(await page.evaluate(`${value("tenant", "(unreadable)")}.textContent`), /4\.0%/);
    await shows("#rail .coverage", /90\.0% of the time · 2 values/);
  });

  test("a click includes, the button beside it excludes, and both can be taken back", async () => {
    await page.open(file);
    await page.evaluate(`${value("tenant", "acme")}.querySelector('.value').click()`);
    await shows("#chips .amount", /^600 ms of CPU time, 60\.0% of all/);
    // The others stay in sight, with what they would be.
    assert.match(await page.evaluate(`${value("tenant", "globex")}.textContent`), /30\.0%/);
    await page.evaluate(`${value("route", "/search")}.querySelector('.exclude').click()`);
    await shows("#chips .amount", /^200 ms/);
    await page.evaluate("history.back()");
    await page.until("document.querySelector('#chips .amount').textContent.startsWith('600 ms')");
    await press("#chips .chip button");
    assert.equal(await amount(), "1.00 s of CPU time");
  });

  test("groups above the stacks, in their order, and as leaves", async () => {
    await page.open(file);
    await choose("group-add", "tenant");
    await choose("group-add", "route");
    await page.evaluate("document.querySelector('.flame').focus()");
    await page.press("ArrowDown");
    await shows("#flame-item", /^tenant=acme: 600 ms, 60\.0%, 60 samples/);
    await page.press("ArrowDown");
    await shows("#flame-item", /^route=\/search: 400 ms/);
    await page.press("ArrowRight");
    await shows("#flame-item", /^route=\/checkout: 200 ms/);
    await press("#groups [aria-label='move route outwards']");
    await page.evaluate("document.querySelector('.flame').focus()");
    await page.press("ArrowDown");
    await shows("#flame-item", /^route=\/search: 600 ms/);
  });

  test("columns of the table are the values of a label", async () => {
    await page.open(file, "#view=table&pivot=tenant&sort=total");
    const head = await page.evaluate(
      "[...document.querySelectorAll('thead .column-title')].map((t) => t.textContent)",
    );
    assert.deepEqual(head, [
      "function",
      "self",
      "total",
      "acme",
      "globex",
      "(unset)",
      "(unreadable)",
    ]);
    const rows = await page.evaluate(
      "[...document.querySelectorAll('tbody tr:not(.pad)')].map((r) => [...r.children].map(" +
        "(c) => c.querySelector('.time-text')?.textContent ?? c.textContent))",
    );
    assert.deepEqual(rows[0], ["main", "·", "1.00 s", "600 ms", "300 ms", "60.0 ms", "40.0 ms"]);
    assert.deepEqual(
      rows.find((row) => row[0] === "search"),
      ["search", "200 ms", "600 ms", "400 ms", "200 ms", "·", "·"],
    );
    await press("thead th:nth-child(2) button");
    assert.equal(
      await page.evaluate("document.querySelector('tbody tr:not(.pad) th').textContent"),
      "count",
    );
  });

  test("a function with its labels, callers and callees", async () => {
    await page.open(file, "#view=table&sort=total");
    await page.evaluate(
      "[...document.querySelectorAll('tbody tr')].find((r) => r.firstChild.textContent === " +
        "'search').click()",
    );
    await shows(
      ".function-title",
      /search.*600 ms in it and below \(60\.0%\), 200 ms in it alone/s,
    );
    await shows(".function-labels", /tenant.*acme66\.7%.*globex33\.3%/s);
    await page.evaluate("document.querySelectorAll('.half .flame')[0].focus()");
    await page.press("ArrowUp");
    await shows("#callers-item", /^serve: 600 ms/);
    await page.evaluate("document.querySelectorAll('.half .flame')[1].focus()");
    await page.press("ArrowDown");
    await shows("#callees-item", /^count: 400 ms/);
  });

  test("A and B, with shares of each", async () => {
    await page.open(file);
    await page.press("c");
    await shows(".part-a", /tenant = acme.*600 ms of CPU time, 60 samples/);
    await shows(".part-b", /tenant = globex.*300 ms of CPU time, 30 samples/);
    await page.press("2");
    const row = await page.evaluate(
      "[...[...document.querySelectorAll('tbody tr')].find((r) => r.firstChild.textContent " +
        "=== 'count').children].map((c) => c.textContent)",
    );
    assert.deepEqual(row, ["count", "66.7%", "0.0%", "−66.7", "66.7%", "0.0%", "−66.7"]);
    // The largest difference first, whatever its sign; those that may be chance last, with a mark.
    const differences = await page.evaluate(
      "[...document.querySelectorAll('tbody tr:not(.pad)')].map((r) => r.children[3].textContent)",
    );
    assert.deepEqual(
      differences.map((text) => text.replace(/^[+−]/, "")),
      ["66.7", "66.7", "33.3", "33.3", "0.0", "0.0"],
    );
    assert.ok(await page.evaluate("document.querySelector('.difference.less') !== null"));
    assert.ok(await page.evaluate("document.querySelector('.difference.chance') !== null"));
    await shows("#legend", /~ may be chance/);
    await shows("#status", /^Click a row/);
  });

  test("a page of two recordings opens with A and B, and labels choose from both", async () => {
    const two = new ProfileText();
    const add = (count, stack, labels) => {
      for (let i = 0; i < count; i++) two.sample(stack, labels, { weight: 1e7, time: i });
    };
    for (const [recording, parse] of [
      ["A", 100],
      ["B", 300],
    ]) {
      add(parse, ["main", "parse"], { recording, tenant: "acme" });
      add(400 - parse - (recording === "B" ? 2 : 0), ["main", "idle"], {
        recording,
        tenant: "globex",
      });
      if (recording === "B") add(2, ["main", "odd"], { recording, tenant: "globex" });
    }
    const path = join(folder, "diff.html");
    writeFileSync(
      path,
      pageText(two.bytes(), { ...FACTS, compare_by: "recording", best_key: "tenant" }),
    );
    await page.open(path);
    await shows(".part-a", /recording = A.*4\.00 s of CPU time, 400 samples/);
    await shows(".part-b", /recording = B.*4\.00 s of CPU time, 400 samples/);
    assert.equal(await state(), "");
    await page.evaluate("document.querySelector('.flame').focus()");
    await page.press("ArrowDown");
    await page.press("ArrowDown");
    await shows("#flame-item", /: A 25\.0%, B 75\.0%|: A 75\.0%, B 25\.0%/);
    // One colour of A and one of B: in the bar, in the list, in the legend.
    const colors = (selector) =>
      page.evaluate(
        `[...document.querySelectorAll(${JSON.stringify(selector)})].map((e) => e.style.` +
          "backgroundColor)",
      );
    const [a, b] = await colors("#compare .mark");
    assert.notEqual(a, b);
    assert.deepEqual(await colors("#rail [aria-label='label recording'] .bar"), [a, b]);
    const legend = await colors("#legend .mark");
    assert.deepEqual([legend[0], legend[2]], [a, b]);
    assert.deepEqual(await colors("#rail [aria-label='label tenant'] .bar"), ["", ""]);
    // In the table what may be chance comes last and has a mark.
    await page.press("2");
    const rows = await page.evaluate(
      "[...document.querySelectorAll('tbody tr:not(.pad)')].map((r) => [r.children[0]." +
        "textContent, r.children[3].textContent])",
    );
    assert.deepEqual(rows.slice(2), [
      ["odd", "+0.5~"],
      ["main", "0.0"],
    ]);
    await page.press("1");
    for (const width of [1280, 390]) {
      await page.resize(width, 844);
      assert.ok(
        await page.evaluate(
          "[...document.querySelectorAll('#legend bdi')].every((e) => e.scrollWidth <= e." +
            "clientWidth)",
        ),
        `${width}`,
      );
    }
    await page.resize(1280, 720);
    await page.evaluate(`${value("tenant", "acme")}.querySelector('.value').click()`);
    await shows(".part-a", /1\.00 s of CPU time, 100 samples/);
    await shows(".part-b", /3\.00 s of CPU time, 300 samples/);
    // And back to one recording alone, by its filter.
    await page.press("c");
    await shows("#chips .amount", /^4\.00 s of CPU time, 50\.0% of all/);
  });

  test("bytes are bytes: a heap profile has no times", async () => {
    const heap = new ProfileText();
    heap.sample(["main", "grow"], { tenant: "acme" }, { weight: 3 * 1024 * 1024 });
    heap.sample(["main"], {}, { weight: 1024 * 1024 });
    const path = join(folder, "heap.html");
    writeFileSync(
      path,
      pageText(heap.bytes(), {
        ...FACTS,
        mode: "inuse_space",
        unit: "bytes",
        event: "another tool",
        backend: "",
        period_ns: 0,
        duration_ns: 0,
        start_unix_ms: 0,
        stacks: null,
        has_stacks: true,
        tick_ns: 0,
        command: "",
        source: "heap.pprof",
        time_line: "4.00 MiB of inuse_space (bytes)",
      }),
    );
    await page.open(path);
    await shows("#chips .amount", /^4\.00 MiB of inuse_space$/);
    assert.match(await text("#facts-line"), /inuse_space, by another tool/);
    assert.doesNotMatch(await text("#facts-line"), /by {2}|0 ns/);
    // It is called as its file; no word of time, of stacks that are not there, or of threads that
    // nobody knows.
    assert.equal(await text("#title"), "heap.pprof");
    assert.equal(await page.evaluate("document.title"), "heap.pprof – labelscope");
    assert.match(await text("#facts-details"), /inuse_space4\.00 MiB of inuse_space/);
    assert.doesNotMatch(await text("#facts-details"), /none taken|time/);
    assert.equal(await text("#rail h3"), "tenant");
    assert.equal(await text("#rail .coverage"), "acme · 75.0%");
    await press("#rail .fold");
    assert.match(await text("#rail .coverage"), /75\.0% of inuse_space · 1 value/);
    assert.equal(await page.evaluate("document.querySelectorAll('#rail .key').length"), 1);
    await page.evaluate("document.querySelector('.flame').focus()");
    await page.press("ArrowDown");
    await page.press("ArrowDown");
    await shows("#flame-item", /^grow: 3\.00 MiB, 75\.0%/);
  });

  test("a stretch of time, by mouse and by keys", async () => {
    await page.open(file);
    const area = await page.evaluate(
      "(({ x, y, width, height }) => ({ x, y, width, height }))(document.querySelector('." +
        "time').getBoundingClientRect())",
    );
    const y = area.y + area.height / 2;
    await page.mouse("mousePressed", area.x + 1, y);
    await page.mouse("mouseMoved", area.x + area.width * 0.4, y);
    await page.mouse("mouseReleased", area.x + area.width * 0.4, y);
    await shows("#chips .amount", /^(390|400) ms of CPU time, /);
    await shows(".time-caption", /to (39\d|400) ms/);
    await page.evaluate("document.querySelector('.time').focus()");
    await page.press("ArrowRight");
    await page.until(
      "!/to (39\\d|400) ms/.test(document.querySelector('.time-caption').textContent)",
    );
    await page.press("Escape");
    await shows("#chips .amount", /^1\.00 s of CPU time$/);
  });

  test("search: the share that matches, the next match, and only what matches", async () => {
    await page.open(file);
    await page.press("/");
    await page.type("^(count|sign)$");
    await page.until("document.getElementById('search-result').textContent !== ''");
    await shows("#search-result", /^50\.0% in 2 functions$/);
    await page.press("Enter");
    await shows("#flame-item", /^count: /);
    await press("#search-keep");
    await shows("#chips .amount", /^500 ms/);
    await page.press("/");
    await page.type("(");
    await page.until(
      "document.getElementById('search-result').textContent === 'not a regular expression'",
    );
  });

  test("everything by keyboard", async () => {
    await page.open(file);
    await page.press("?");
    await page.until("document.getElementById('help').open");
    await page.press("Escape");
    await page.until("!document.getElementById('help').open");
    // While the dialog gives the focus back, a busy browser may lose a key.
    const inTree = () => page.evaluate("document.activeElement.getAttribute('role') === 'tree'");
    for (let i = 0; i < 20 && !(await inTree()); i++) await page.press("ArrowDown");
    assert.ok(await inTree());
    await page.press("ArrowDown");
    await page.press("ArrowDown");
    await shows("#flame-item", /^serve: 940 ms/);
    await page.press("Enter");
    await page.until("location.hash.includes('zoom=')");
    await page.press("0");
    await page.until("location.hash === ''");
    await page.press("ArrowDown");
    await page.press("f");
    await shows(".function-title", /^main/);
    await page.press("2");
    await page.press("ArrowDown");
    await page.press("ArrowDown");
    await page.press("Enter");
    await page.until("location.hash.includes('view=function')");
    for (const [key, wanted] of [
      ["1", "flame"],
      ["i", "icicle=0"],
      ["u", "inverted=1"],
    ]) {
      await page.press(key);
      if (key !== "1") await page.until(`location.hash.includes('${wanted}')`);
    }
    await page.press("g");
    await page.until("document.activeElement.id === 'group-add'");
  });

  test("every control has a name", async () => {
    for (const fragment of [
      "",
      "#view=table",
      "#view=function&function=1",
      "#compare=1&groups=%5B%22tenant%22%5D",
    ]) {
      await page.open(file, fragment);
      const { nodes } = await page.send("Accessibility.getFullAXTree", {});
      const nameless = nodes.filter(
        (node) =>
          !node.ignored &&
          [
            "button",
            "textbox",
            "searchbox",
            "combobox",
            "slider",
            "tree",
            "treeitem",
            "table",
          ].includes(node.role?.value) &&
          !(node.name?.value ?? "").trim(),
      );
      assert.deepEqual(
        nameless.map((node) => node.role.value),
        [],
        fragment,
      );
    }
  });

  test("a link shows the same again", async () => {
    await page.open(file);
    await page.evaluate(`${value("tenant", "acme")}.querySelector('.value').click()`);
    await choose("group-add", "route");
    await page.press("u");
    const link = await state();
    const shown = await page.evaluate("document.querySelector('main').textContent");
    await page.open(file, link);
    assert.equal(await page.evaluate("document.querySelector('main').textContent"), shown);
    await page.open(file, "#filter=nonsense&groups=%5B%22nobody%22%5D");
    await shows("#notice", /left out: filter.*no label nobody/s);
  });

  test("dark where the system is, and by its button; colours for everybody", async () => {
    const ground = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    await page.prefer("light");
    await page.open(file);
    const light = await ground();
    await page.prefer("dark");
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.press("d");
    assert.equal(await ground(), light);
    await page.evaluate("localStorage.clear()");
    await page.prefer("");
    const color = "document.querySelector('.legend .mark').style.backgroundColor";
    const before = await page.evaluate(color);
    await press("#palette-button");
    assert.notEqual(await page.evaluate(color), before);
    await page.evaluate("localStorage.clear()");
  });

  const download = async (name, button) => {
    await page.press("s");
    await page.evaluate(`document.querySelectorAll('#save .choices button')[${button}].click()`);
    const path = join(page.downloads, name);
    for (let i = 0; !existsSync(path); i++) {
      assert.ok(
        i < 500,
        `${name} was not saved: ` +
          `${existsSync(page.downloads) ? readdirSync(page.downloads) : "nothing"}`,
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return readFileSync(path);
  };

  test("what is chosen can be saved", async () => {
    await page.open(
      file,
      `#filter=${encodeURIComponent('[[["tenant",["acme"],[]]],null,""]')}&groups=%5B%22rou` +
        "te%22%5D",
    );
    assert.equal(
      String(await download("selection.folded", 1)),
      "route=/checkout;main;serve;checkout 200000000\nroute=/search;main;serve;search;" +
        "count 400000000\n",
    );
    const csv = String(await download("selection.csv", 2)).split("\r\n");
    assert.ok(
      csv.includes("400000000,40,count,,complete,labelled,shop,100,worker,101,/search,acme"),
      csv.join("\n"),
    );
    const pprof = await download("selection.pb.gz", 0);
    gunzipSync(pprof);
    const go = spawnSync("go", ["version"]);
    if (go.status === 0) {
      const path = join(folder, "selection.pb.gz");
      writeFileSync(path, pprof);
      const run = (...words) => {
        const done = spawnSync("go", ["tool", "pprof", ...words, path], {
          env: {
            ...process.env,
            HOME: folder,
            PPROF_TMPDIR: folder,
            GOFLAGS: "",
            GOTOOLCHAIN: "local",
          },
        });
        assert.equal(done.status, 0, String(done.stderr));
        return String(done.stdout);
      };
      assert.match(
        run("-tags"),
        /route: Total 600\.0ms.*\n +400\.0ms \(66\.67%\): \/search\n +200\.0ms .*: \/checkout/,
      );
      assert.match(run("-top"), /400ms 66\.67% 66\.67% +400ms 66\.67% +count/);
    }
  });

  test("nothing in a label, a name or the command runs or breaks the page", async () => {
    const odd = new ProfileText();
    for (const [i, one] of hostile.entries()) {
      odd.sample(
        ["main", { name: one, file: one, module: one, kind: 0 }],
        { [one]: one, tenant: one, other: String(i) },
        { thread: odd.thread(1, i + 2, one, one), time: i },
      );
    }
    const path = join(folder, "hostile.html");
    writeFileSync(
      path,
      pageText(odd.bytes(), {
        ...FACTS,
        command: hostile.join(" "),
        best_key: "tenant",
        group_by: [hostile[0]],
        counters: { [hostile[1]]: 1 },
        ledger_line: hostile[0],
      }),
    );
    const other = await browser.page();
    for (const fragment of [
      "",
      "#view=table&pivot=tenant",
      "#view=function&function=3",
      "#compare=1",
      `#groups=${encodeURIComponent(JSON.stringify(["tenant", hostile[1]]))}`,
      `#color=${encodeURIComponent(hostile[2])}`,
    ]) {
      await other.open(path, fragment);
      assert.equal(
        await other.evaluate("document.body.classList.contains('ready')"),
        true,
        fragment,
      );
      await other.press("?");
      await other.press("Escape");
      // Bounded: nothing makes the page wider than the window, and no text is without end.
      assert.ok(
        await other.evaluate("document.documentElement.scrollWidth <= innerWidth"),
        fragment,
      );
      assert.ok(
        await other.evaluate(
          "Math.max(...[...document.querySelectorAll('body :not(script)')].filter((e) => e." +
            "childElementCount === 0).map((e) => e.textContent.length)) <= 2100",
        ),
        fragment,
      );
      assert.equal(
        await other.evaluate(
          "document.querySelectorAll('img, svg, iframe, object, embed, link, base, form').length",
        ),
        0,
      );
    }
    assert.equal(
      await other.evaluate("window.hacked === undefined && ({}).polluted === undefined"),
      true,
    );
    assert.equal(other.dialogs, 0);
    assert.deepEqual(other.complaints, []);
    // Every value is there, told apart from ours, and can be chosen.
    await other.open(path);
    await other.evaluate(
      "[...document.querySelectorAll('#rail .note button')].forEach((b) => b.click())",
    );
    const shown = await other.evaluate(
      "[...document.querySelectorAll('#rail .text')].map((t) => t.textContent)",
    );
    for (const one of hostile.filter((one) => one.length < 100))
      assert.ok(shown.includes(one === "(unset)" ? '"(unset)"' : one), one);
    assert.deepEqual(
      other.requests.filter((url) => !url.startsWith("file://") && !url.startsWith("about:")),
      [],
    );
  });

  const many = join(folder, "many.html");
  const link = (fields) => `#${new URLSearchParams(fields)}`;
  const side = (tenant) => JSON.stringify([[["tenant", [tenant], []]], null, ""]);
  const compared = { compare: "1", a: side("acme"), b: side("globex") };

  test("twelve thousand values are other (n), which opens by keys and by a link", async () => {
    const requests = new ProfileText();
    for (let i = 0; i < 12000; i++) {
      const keys = Array.from({ length: 300 }, (_, k) => [
        `key${k}`,
        `v${i % 40 === 0 ? k % 3 : 0}`,
      ]);
      const labels = i < 300 ? Object.fromEntries(keys) : {};
      requests.sample(["main"], { ...labels, id: `request-${i}` }, { time: i });
    }
    writeFileSync(many, pageText(requests.bytes(), { ...FACTS, best_key: "id" }));
    await page.open(many, link({ groups: '["id"]' }));
    await page.evaluate("document.querySelector('.flame').focus()");
    await page.press("ArrowDown");
    await shows("#flame-item", /^other \(12,000\): .*open it to see them/);
    await page.press("Enter");
    await shows("#crumbs", /^all ▸ other \(12,000\)reset the zoom$/);
    await page.press("ArrowDown");
    await shows("#flame-item", /^other \(500\)/);
    await page.press("Enter");
    await page.press("ArrowDown");
    await shows("#flame-item", /^id=request-\d+: 1\.00 µs/);
    const path = await state();
    await page.open(many, path);
    await shows("#crumbs", /^all ▸ other \(12,000\) ▸ other \(500\)reset the zoom$/);
    await press("#crumbs button:last-child");
    assert.equal(await text("#crumbs"), "all");
  });

  test("three hundred labels are lines that open, and can be searched", async () => {
    await page.open(many);
    const height = "document.querySelector('#rail').scrollHeight";
    assert.ok((await page.evaluate(height)) < 20000);
    assert.equal(await page.evaluate("document.querySelectorAll('#rail .key').length"), 301);
    // The label of all samples comes before those of a few.
    assert.equal(await text("#rail .fold"), "id");
    await page.evaluate("document.querySelector('.key-search').focus()");
    await page.type("key29");
    const shown = "[...document.querySelectorAll('#rail .key')].filter((s) => !s.hidden).length";
    await page.until(`${shown} === 11`);
    const fold =
      "[...document.querySelectorAll('#rail .fold')].find((b) => b.textContent === 'key290')";
    assert.equal(await page.evaluate(`${fold}.getAttribute('aria-expanded')`), "false");
    await page.evaluate(`${fold}.click()`);
    assert.equal(await page.evaluate(`${fold}.getAttribute('aria-expanded')`), "true");
    await page.until(
      "document.querySelectorAll('#rail .key:not(.folded):not([hidden]) .value').length > 0",
    );
  });

  test("a search and a link with an expression that would never end are answered", async () => {
    const slow = `${"service handler request ".repeat(100)}::work`;
    const names = new ProfileText().sample(["main", slow], { tenant: "acme" });
    const path = join(folder, "slow.html");
    writeFileSync(path, pageText(names.bytes(), { ...FACTS, best_key: "tenant" }));
    await page.open(path, link({ search: "(\\w+\\s?)+::zzz" }));
    await shows("#search-result", /^0\.0% in 0 functions$/);
    await page.open(path, link({ filter: JSON.stringify([[], null, "(\\w+\\s?)+::zzz"]) }));
    await shows("#chips .amount", /^0 ns of CPU time, 0\.0% of all/);
    await page.open(path, link({ search: "a(?=b)" }));
    await shows("#search-result", /look-around/);
    await page.open(path, link({ filter: JSON.stringify([[], null, "a(?=b)"]) }));
    await shows("#notice", /left out: filter/);
  });

  test("A and B stay apart in the function view", async () => {
    await page.open(file, link({ view: "function", function: "1", ...compared }));
    await shows(
      ".function-title",
      /A: 600 ms in it and below \(100\.0%\).*B: 300 ms .*\(100\.0%\)/s,
    );
    await shows(".function-labels", /route.*\/searchA 66\.7%, B 66\.7%/s);
    await page.open(file, link({ view: "function", ...compared }));
    await shows(".found", /countA 66\.7%, B 0\.0%/);
  });

  test("the strip of time filters the side that is chosen", async () => {
    await page.open(file, link(compared));
    await press(".choice button:nth-child(2)");
    const area = await page.evaluate(
      "(({ x, y, width, height }) => ({ x, y, width, height }))(document.querySelector('." +
        "time').getBoundingClientRect())",
    );
    const y = area.y + area.height / 2;
    await page.mouse("mousePressed", area.x + area.width * 0.7, y);
    await page.mouse("mouseMoved", area.x + area.width * 0.99, y);
    await page.mouse("mouseReleased", area.x + area.width * 0.99, y);
    await shows(".part-b", /time .*200 ms of CPU time, 20 samples/);
    await shows(".part-a", /600 ms of CPU time, 60 samples/);
    await shows(".time-height", /height: \d+\.\d CPUs/);
  });

  test("a box has a menu: only it, without it, its function, its name", async () => {
    await page.open(file);
    const menuOn = async (name) => {
      await page.evaluate("document.querySelector('.flame').focus()");
      for (let i = 0; i < 12; i++) {
        if ((await text("#flame-item")).startsWith(`${name}:`)) break;
        await page.press(i % 4 === 3 ? "ArrowRight" : "ArrowDown");
      }
      await shows("#flame-item", new RegExp(`^${name}:`));
      await page.press("m");
      await page.until("!document.getElementById('menu').hidden");
    };
    const choose = (item) =>
      page.evaluate(
        "[...document.querySelectorAll('#menu button')].find((b) => b.textContent === " +
          `'${item}').click()`,
      );
    await menuOn("search");
    assert.equal(await page.evaluate("document.activeElement.getAttribute('role')"), "menuitem");
    await page.press("Escape");
    await page.until("document.getElementById('menu').hidden");
    assert.equal(await page.evaluate("document.activeElement.getAttribute('role')"), "tree");
    await menuOn("search");
    await choose("only stacks with it");
    await shows("#chips .amount", /^600 ms of CPU time/);
    await shows("#chips", /stacks with \/\^search\$\//);
    await menuOn("search");
    await choose("callers and callees");
    await shows(".function-title", /^search/);
    await page.open(file);
    await menuOn("search");
    await choose("without it");
    await shows("#chips .amount", /^400 ms of CPU time/);
    // Both shares, where they differ.
    await page.evaluate("document.querySelector('.flame').focus()");
    await shows("#flame-item", /^all: 400 ms, 100\.0% of the view, 40\.0% of all, 40 samples/);
  });

  test("no chip moves what stands below it", async () => {
    await page.open(file);
    const top = "document.querySelector('#flame-panel').getBoundingClientRect().top";
    const before = await page.evaluate(top);
    await page.evaluate(`${value("tenant", "acme")}.querySelector('.value').click()`);
    await page.evaluate(`${value("route", "/search")}.querySelector('.exclude').click()`);
    await shows("#chips", /tenant = acme.*route/);
    assert.equal(await page.evaluate(top), before);
    await page.evaluate("document.querySelector('.time').focus()");
    await page.press("ArrowRight");
    await shows(".time-caption", /all time/);
    assert.equal(await page.evaluate(top), before);
  });

  test("columns of three values fit into 1280 pixels", async () => {
    await page.open(file, link({ view: "table", pivot: "tenant" }));
    const scroller = "document.querySelector('.table-scroller')";
    assert.ok(await page.evaluate(`${scroller}.scrollWidth <= ${scroller}.clientWidth`));
  });

  test("boxes have the colours of the legend, also narrow ones; ours differ", async () => {
    const narrow = new ProfileText();
    for (let i = 0; i < 400; i++) {
      narrow.sample(["main", `f${i}`], { tenant: i % 2 === 0 ? "acme" : "globex" });
    }
    const path = join(folder, "narrow.html");
    writeFileSync(path, pageText(narrow.bytes(), { ...FACTS, best_key: "tenant" }));
    await page.open(path);
    const counts = await page.evaluate(`(() => {
      const canvas = document.querySelector('.flame canvas');
      const ratio = devicePixelRatio;
      const y = Math.round(2.5 * 20 * ratio);
      const { data } = canvas.getContext('2d').getImageData(0, y, canvas.width, 1);
      const seen = {};
      for (let i = 0; i < data.length; i += 4) {
        const color = [data[i], data[i + 1], data[i + 2]].join();
        seen[color] = (seen[color] ?? 0) + 1;
      }
      const marks = [...document.querySelectorAll('#legend .mark')].slice(0, 2);
      return marks.map((m) => seen[m.style.backgroundColor.match(/\\d+/g).join()] ?? 0);
    })()`);
    assert.ok(
      counts.every((count) => count > 200),
      counts.join(),
    );
    await page.open(file);
    const marks = await page.evaluate(
      "[...document.querySelectorAll('#legend .mark')].map((m) => m.style.backgroundColor " +
        "+ m.className)",
    );
    assert.equal(new Set(marks).size, 4);
    // In function colours no legend of values stands over them.
    await page.open(file, link({ inverted: "1" }));
    await shows("#legend", /^functions are coloured by their module$/);
    await page.open(file, link({ view: "function", function: "1" }));
    await shows("#legend", /^functions are coloured by their module$/);
  });

  test("bars are divided by what threads did, where time is of several kinds", async () => {
    const text = new ProfileText();
    const add = (kind, wait, tenant, weight) =>
      text.sample(
        ["main"],
        // The program has a label of its own that is called `state`.
        { state: "waiting", ...(wait ? { wait } : {}), ...(tenant ? { tenant } : {}) },
        { kind, weight },
      );
    add("cpu", "", "acme", 300);
    add("runnable", "preempted", "acme", 100);
    add("waiting", "futex", "acme", 600);
    add("waiting", "clock_nanosleep", "globex", 500);
    add("waiting", "read", "globex", 250);
    add("blocked", "page fault", "globex", 250);
    add("waiting", "idle", "", 2000);
    const path = join(folder, "kinds.html");
    writeFileSync(path, pageText(text.bytes(), { ...FACTS, best_key: "tenant" }));
    await page.open(path);
    const legend = () =>
      page.evaluate(
        "[...document.querySelectorAll('.kinds .entry')].map((one) => one.textContent)",
      );
    assert.deepEqual(await legend(), [
      "cpu 7.5%",
      "runnable 2.5%",
      "lock 15.0%",
      "I/O 12.5%",
      "sleep 12.5%",
      "idle 50.0%",
    ]);
    const [title, background] = await page.evaluate(`(() => {
      const value = [...document.querySelectorAll('[aria-label="label tenant"] .value')].find(
        (one) => one.querySelector('.text').textContent === 'globex');
      return [value.title, value.querySelector('.bar').style.background];
    })()`);
    assert.match(title, /I\/O 500 ns\nsleep 500 ns\n/);
    assert.match(background, /linear-gradient\(90deg, rgb\(63, 127, 191\) 0%, .* 50%, .* 100%\)/);
    assert.deepEqual(await page.evaluate(`(${poorTexts})()`), []);
    await page.evaluate(`[...document.querySelectorAll('[aria-label="label tenant"] .value')]
      .find((one) => one.querySelector('.text').textContent === 'acme').click()`);
    assert.deepEqual(await legend(), ["cpu 30.0%", "runnable 10.0%", "lock 60.0%"]);
    await page.open(file);
    assert.deepEqual(await legend(), []);
  });

  test("texts have a contrast of 4.5, and what is pressed has 24 pixels", async () => {
    const fragments = [
      "",
      link({ view: "table" }),
      link({ view: "function", function: "1" }),
      link(compared),
    ];
    for (const scheme of ["light", "dark"]) {
      await page.prefer(scheme);
      for (const fragment of fragments) {
        await page.open(file, fragment);
        assert.deepEqual(await page.evaluate(`(${poorTexts})()`), [], `${scheme} ${fragment}`);
        assert.deepEqual(await page.evaluate(`(${smallTargets})()`), [], `${scheme} ${fragment}`);
      }
    }
    await page.prefer("");
  });

  test("the first Tab leads past everything to the graph", async () => {
    await page.open(file);
    await page.evaluate("document.activeElement.blur()");
    await page.press("Tab");
    await page.until("document.activeElement.id === 'skip-button'");
    await page.press("Enter");
    await page.until("document.activeElement.getAttribute('role') === 'tree'");
  });

  test("the policy refuses what it should refuse", async () => {
    await page.open(file);
    const refused = (code) =>
      page.evaluate(
        `(async () => { try { ${code}; return "allowed"; } catch (error) { return ` +
          `"refused"; } })()`,
      );
    assert.equal(await refused("document.body.innerHTML = '<p>'"), "refused");
    assert.equal(await refused("await fetch('http://127.0.0.1:9/')"), "refused");
    await page
      .evaluate(
        "{ const s = document.createElement('div'); document.body.append(s); s." +
          "setAttribute('onclick', 'window.hacked = 1'); s.click(); }",
      )
      .catch(() => {});
    assert.equal(await page.evaluate("window.hacked === undefined"), true);
  });

  test("a damaged page and a browser without DecompressionStream say so", async () => {
    const path = join(folder, "damaged.html");
    const whole = readFileSync(file, "utf8");
    const at = whole.indexOf('id="profile">') + 13;
    writeFileSync(path, whole.slice(0, at + 200) + whole.slice(whole.indexOf("</script>", at)));
    await page.open(path);
    await shows("#notice", /incomplete or damaged/);
    const old = await browser.page();
    await old.send("Page.addScriptToEvaluateOnNewDocument", {
      source: "delete globalThis.DecompressionStream",
    });
    await old.open(file);
    assert.match(
      (await text("#notice")) +
        (await old.evaluate("document.getElementById('notice').textContent")),
      /no DecompressionStream/,
    );
  });

  test("on a narrow screen: labels in a drawer, nothing wider than the screen", async () => {
    const phone = await browser.page(390, 844);
    await phone.resize(390, 844, 2, true);
    for (const fragment of [
      "",
      "#view=table&pivot=tenant",
      "#view=function&function=1",
      "#compare=1&groups=%5B%22tenant%22%2C%22route%22%5D",
    ]) {
      await phone.open(file, fragment);
      assert.ok(
        await phone.evaluate("document.documentElement.scrollWidth <= innerWidth"),
        fragment,
      );
    }
    await phone.open(file);
    const top = (id) =>
      phone.evaluate(`document.getElementById('${id}').getBoundingClientRect().top`);
    for (const id of ["time", "chips", "groups"])
      assert.ok((await top("flame-panel")) < (await top(id)), id);
    assert.ok((await top("flame-panel")) < 300);
    assert.equal(
      await phone.evaluate("getComputedStyle(document.getElementById('rail')).display"),
      "none",
    );
    await phone.evaluate("document.getElementById('labels-button').click()");
    assert.equal(
      await phone.evaluate("getComputedStyle(document.getElementById('rail')).display"),
      "block",
    );
    assert.deepEqual(phone.complaints, []);
  });

  test("no error was said, and nothing was asked of a network", () => {
    assert.deepEqual(
      page.requests.filter(
        (url) => !/^(file|about|blob):/.test(url) && url !== "http://127.0.0.1:9/",
      ),
      [],
    );
  });
});
