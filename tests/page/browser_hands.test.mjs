// The page by mouse, keys and links.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FACTS, ProfileText, pageText } from "./encode.mjs";
import {
  choose,
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

inBrowser("mouse, keys and links", () => {
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

  test("everything by keyboard", async () => {
    await page.open(file);
    await page.press("?");
    await page.until("document.getElementById('help').open");
    const help = await page.evaluate("document.getElementById('help').textContent");
    assert.match(help, /thread that changed its name has its last one everywhere/);
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

  test("the first Tab leads past everything to the graph", async () => {
    await page.open(file);
    await page.evaluate("document.activeElement.blur()");
    await page.press("Tab");
    await page.until("document.activeElement.id === 'skip-button'");
    await page.press("Enter");
    await page.until("document.activeElement.getAttribute('role') === 'tree'");
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
});
