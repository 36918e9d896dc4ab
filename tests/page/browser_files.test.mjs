// What the page saves, and what is hostile or damaged in it.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { FACTS, ProfileText, pageText } from "./encode.mjs";
import { browser, file, folder, inBrowser, page, shows, text } from "./shop_page.mjs";

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

const download = async (name, button) => {
  await page.press("s");
  await page.evaluate(`document.querySelectorAll('#save .choices button')[${button}].click()`);
  const path = join(page.downloads, name);
  // The browser makes the file, and then writes it.
  for (let i = 0; !existsSync(path) || statSync(path).size === 0; i++) {
    assert.ok(
      i < 500,
      `${name} was not saved: ` +
        `${existsSync(page.downloads) ? readdirSync(page.downloads) : "nothing"}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return readFileSync(path);
};

inBrowser("files", () => {
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
      // Go 1.26 leaves out a zero behind the point.
      assert.match(
        run("-tags"),
        /route: Total 600(\.0)?ms.*\n +400(\.0)?ms \(66\.67%\): \/search\n +200(\.0)?ms .*: \/checkout/,
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
});
