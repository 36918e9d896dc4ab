// Labels of the page: their list, filters, groups, and very many of them.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FACTS, ProfileText, pageText } from "./encode.mjs";
import {
  amount,
  choose,
  file,
  folder,
  inBrowser,
  link,
  page,
  press,
  shows,
  state,
  text,
  value,
} from "./shop_page.mjs";

const many = join(folder, "many.html");

inBrowser("labels", () => {
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
});
