// The page of a small recording in a browser, and what its tests do with it (browser_*.test.mjs). A
// file of tests has a browser of its own.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Browser, findBrowser } from "./browser.mjs";
import { FACTS, ProfileText, pageText } from "./encode.mjs";

const program = findBrowser();
export const folder = mkdtempSync(join(tmpdir(), "labelscope-pages-"));
export const file = join(folder, "shop.html");
export const browser = program && (await Browser.start(program));
export const page = await browser?.page();
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

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

// Tests of one subject. None of them may make the page say an error or ask a network.
export function inBrowser(subject, tests) {
  const skip = program ? false : "there is no chromium";
  describe(`the page in a browser: ${subject}`, { skip }, () => {
    tests();
    test("no error was said, and nothing was asked of a network", () => {
      assert.deepEqual(
        page.requests.filter(
          (url) => !/^(file|about|blob):/.test(url) && url !== "http://127.0.0.1:9/",
        ),
        [],
      );
    });
  });
}

export const text = (selector) =>
  page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`);
export const press = (selector) =>
  page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
// Keys and clicks take their time to arrive.
export const shows = (selector, wanted) =>
  page
    .until(
      `${wanted}.test(document.querySelector(${JSON.stringify(selector)})?.textContent ?? "")`,
      15,
    )
    .catch(async () => assert.match(await text(selector), wanted));
export const amount = () => text("#chips .amount");
// The value of a label in the list, and the button that leaves it out.
export const value = (key, name) =>
  "[...document.querySelectorAll('#rail .key')].find((s) => s.getAttribute('aria-label') " +
  `=== 'label ${key}')` +
  ".querySelectorAll('li').values().find((li) => li.querySelector('.text').textContent " +
  `=== '${name}')`;
export const state = () => page.evaluate("location.hash");
export const choose = (id, option) =>
  page.evaluate(
    `(() => { const s = document.getElementById('${id}'); s.value = '${option}'; s.` +
      "dispatchEvent(new Event('change')); })()",
  );
export const link = (fields) => `#${new URLSearchParams(fields)}`;
const side = (tenant) => JSON.stringify([[["tenant", [tenant], []]], null, ""]);
export const compared = { compare: "1", a: side("acme"), b: side("globex") };

// Runs in the page: texts whose colour is too near to what they stand on.
export const poorTexts = function () {
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
