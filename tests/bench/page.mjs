// What a browser needs for a page: until it can be used, and until a change of the view is drawn.
//
//   node tests/bench/page.mjs [--times N] PAGE.html [--pprof FILE.pb.gz] [--speedscope FOLDER
//   FILE.speedscope.json]
//
// --pprof       beside `go tool pprof -http` on the same profile: from its start to its flame
// graph, and to that by label
// --speedscope  beside speedscope, as npm has it (node_modules/speedscope/dist/release): until it
// shows the profile. It
//               knows no labels.
//
// Each number is the least of N (5), in milliseconds; a busy machine makes them larger, nothing
// makes them smaller.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Browser, findBrowser } from "../page/browser.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: "string", default: "5" },
    pprof: { type: "string" },
    speedscope: { type: "string" },
  },
});
const [path, speedscopeFile] = positionals;
const program = findBrowser();
if (!path || !program || (options.speedscope && !speedscopeFile)) {
  console.error(
    path && !program
      ? "there is no chromium"
      : "tests/bench/page.mjs: its first lines say how it is called",
  );
  process.exit(2);
}

const browser = await Browser.start(program);
const least = new Map();
const note = (name, ms) => least.set(name, Math.min(ms, least.get(name) ?? Infinity));
// From the change of the state to the frame after it.
const timed = (code) => `new Promise((done) => { const t = performance.now(); ${code};
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - t))); })`;
const choose = (id, value) =>
  `const s = document.getElementById("${id}"); s.value = ${JSON.stringify(value)}; s.` +
  `dispatchEvent(new Event("change"))`;

let keys = [];
async function measurePage() {
  const page = await browser.page();
  await page.open(resolve(path));
  // Since the navigation began, until the first frame with data.
  note(
    "opens",
    await page.evaluate('performance.getEntriesByName("ready")[0]?.startTime ?? performance.now()'),
  );
  keys = await page.evaluate(
    '[...document.querySelectorAll("#group-add option")].map((o) => o.value).filter(Boolean)',
  );
  for (const key of keys.slice(0, 8)) {
    note(`groups by ${key}`, await page.evaluate(timed(choose("group-add", key))));
    await page.evaluate('document.querySelector("#groups .chip button:last-child").click()');
  }
  note(
    "includes a value",
    await page.evaluate(timed('document.querySelector("#rail .value").click()')),
  );
  await page.evaluate("history.back()");
  note(
    "table with columns",
    await page.evaluate(timed('document.querySelector("[data-view=table]").click()')),
  );
  await page.evaluate('document.querySelector("[data-view=flame]").click()');
  note(
    "upside down",
    await page.evaluate(
      timed('dispatchEvent(new KeyboardEvent("keydown", { key: "u", bubbles: true }))'),
    ),
  );
  await page.evaluate('dispatchEvent(new KeyboardEvent("keydown", { key: "u" }))');
  note(
    "compares A and B",
    await page.evaluate(timed('document.getElementById("compare-button").click()')),
  );
  await browser.send("Target.closeTarget", { targetId: page.target });
}

// Navigates, and waits for the frame in which the condition holds. From `begin`, in milliseconds.
async function openAnother(url, condition, begin = performance.now()) {
  const page = await browser.page();
  await page.send("Page.navigate", { url });
  await page.until(condition, 120);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
  const ms = performance.now() - begin;
  await browser.send("Target.closeTarget", { targetId: page.target });
  return ms;
}

async function freePort() {
  const server = createServer();
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

async function measurePprof() {
  const port = await freePort();
  const begin = performance.now();
  const server = spawn(
    "go",
    ["tool", "pprof", "-no_browser", `-http=127.0.0.1:${port}`, options.pprof],
    { stdio: "ignore", detached: true },
  );
  const url = `http://127.0.0.1:${port}/ui/flamegraph`;
  try {
    while (
      !(await fetch(url)
        .then((answer) => answer.ok)
        .catch(() => false))
    ) {
      if (server.exitCode !== null) throw new Error("go tool pprof has ended");
      await new Promise((later) => setTimeout(later, 20));
    }
    const drawn =
      'document.readyState === "complete" && document.querySelector("#stack-chart > *, ' +
      '#chart svg g, #chart *")';
    note("pprof -http: opens", await openAnother(url, drawn, begin));
    for (const key of keys.slice(0, 8)) {
      note(
        `pprof -http: groups by ${key}`,
        await openAnother(`${url}?tagroot=${encodeURIComponent(key)}`, drawn),
      );
    }
  } finally {
    process.kill(-server.pid);
  }
}

async function measureSpeedscope() {
  const types = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".wasm": "application/wasm",
  };
  const server = createServer((request, response) => {
    const asked = normalize(new URL(request.url, "http://x").pathname);
    const file = asked === "/recording.json" ? speedscopeFile : join(options.speedscope, asked);
    try {
      const bytes = readFileSync(file);
      response
        .writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" })
        .end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const origin = `http://127.0.0.1:${server.address().port}`;
  // It names the window after the profile when that is there.
  note(
    "speedscope: opens",
    await openAnother(
      `${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/recording.json`)}`,
      'document.querySelector("canvas") && document.title.endsWith("- speedscope")',
    ),
  );
  server.closeAllConnections?.();
  server.close();
}

for (let i = 0; i < Number(options.times); i++) {
  await measurePage();
  if (options.pprof) await measurePprof();
  if (options.speedscope) await measureSpeedscope();
}
const width = Math.max(...[...least.keys()].map((name) => name.length));
for (const [name, ms] of least) console.log(`${name.padEnd(width)} ${Math.round(ms)} ms`);
await browser.close();
