// A picture of a page, as somebody sees it:  node screenshot.mjs PAGE.html OUT.png [FRAGMENT
// [WIDTH HEIGHT]]
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Browser, findBrowser } from "./browser.mjs";

const [path, out, fragment = "", width = "1280", height = "720"] = process.argv.slice(2);
const program = findBrowser();
if (!out || !program) {
  console.error(
    out
      ? "there is no chromium (package chromium)"
      : "usage: screenshot.mjs PAGE.html OUT.png [FRAGMENT [WIDTH HEIGHT]]",
  );
  process.exit(2);
}
const browser = await Browser.start(program);
const page = await browser.page(Number(width), Number(height));
await page.prefer("light");
await page.open(resolve(path), fragment);
const failed = await page.evaluate(
  'document.body.classList.contains("failed") ? document.getElementById("notice").textContent : ""',
);
writeFileSync(out, await page.screenshot());
await browser.close();
if (failed) {
  console.error(failed);
  process.exit(1);
}
