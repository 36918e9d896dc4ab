// The views of the page: the table, a function, boxes and their menu, and other units than time.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FACTS, ProfileText, pageText } from "./encode.mjs";
import {
  file,
  folder,
  inBrowser,
  link,
  page,
  poorTexts,
  press,
  shows,
  text,
} from "./shop_page.mjs";

inBrowser("views", () => {
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
});
