// A and B beside each other.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FACTS, ProfileText, pageText } from "./encode.mjs";
import {
  compared,
  file,
  folder,
  inBrowser,
  link,
  page,
  press,
  shows,
  state,
  value,
} from "./shop_page.mjs";

inBrowser("A and B", () => {
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
});
