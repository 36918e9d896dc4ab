// Colours, contrasts, and narrow screens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, compared, file, inBrowser, link, page, poorTexts, press } from "./shop_page.mjs";

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

inBrowser("looks", () => {
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
    // What makes boxes pale is in sight where a link has a search.
    await phone.open(file, "#search=serve");
    assert.ok((await top("search")) < (await top("flame-panel")));
    await phone.open(file);
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
});
