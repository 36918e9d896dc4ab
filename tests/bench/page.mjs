// What a browser needs for a page: until it can be used, and until a change of the view is drawn.
//
//   node tests/bench/page.mjs PAGE.html [TIMES]
//
// Each number is the least of TIMES (5), in milliseconds; a busy machine makes them larger, nothing
// makes them smaller.
import { resolve } from "node:path";
import { Browser, findBrowser } from "../page/browser.mjs";

const [path, times = "5"] = process.argv.slice(2);
const program = findBrowser();
if (!path || !program) {
  console.error(path ? "there is no chromium" : "usage: node tests/bench/page.mjs PAGE.html [TIMES]");
  process.exit(2);
}

const browser = await Browser.start(program);
const least = new Map();
const note = (name, ms) => least.set(name, Math.min(ms, least.get(name) ?? Infinity));
// From the change of the state to the frame after it.
const timed = (code) => `new Promise((done) => { const t = performance.now(); ${code};
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - t))); })`;
const choose = (id, value) => `const s = document.getElementById("${id}"); s.value = ${JSON.stringify(value)}; s.dispatchEvent(new Event("change"))`;
for (let i = 0; i < Number(times); i++) {
  const page = await browser.page();
  await page.open(resolve(path));
  // Since the navigation began, until the first frame with data.
  note("opens", await page.evaluate('performance.getEntriesByName("ready")[0]?.startTime ?? performance.now()'));
  const keys = await page.evaluate('[...document.querySelectorAll("#group-add option")].map((o) => o.value).filter(Boolean)');
  for (const key of keys.slice(0, 8)) {
    note(`groups by ${key}`, await page.evaluate(timed(choose("group-add", key))));
    await page.evaluate('document.querySelector("#groups .chip button:last-child").click()');
  }
  note("includes a value", await page.evaluate(timed('document.querySelector("#rail .value").click()')));
  await page.evaluate("history.back()");
  note("table with columns", await page.evaluate(timed('document.querySelector("[data-view=table]").click()')));
  await page.evaluate('document.querySelector("[data-view=flame]").click()');
  note("upside down", await page.evaluate(timed('dispatchEvent(new KeyboardEvent("keydown", { key: "u", bubbles: true }))')));
  await page.evaluate('dispatchEvent(new KeyboardEvent("keydown", { key: "u" }))');
  note("compares A and B", await page.evaluate(timed('document.getElementById("compare-button").click()')));
  await browser.send("Target.closeTarget", { targetId: page.target });
}
for (const [name, ms] of least) console.log(`${name.padEnd(24)} ${Math.round(ms)} ms`);
await browser.close();
