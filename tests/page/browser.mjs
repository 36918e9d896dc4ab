// A headless Chromium, driven over its debugging pipe (file descriptors 3 and 4): messages are JSON
// between NULs. Nothing but node and the browser is needed.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function findBrowser() {
  const names = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome"].filter(
    Boolean,
  );
  return names.find((name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0);
}

export class Browser {
  static async start(program) {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), "labelscope-page-"));
    browser.process = spawn(
      program,
      [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--force-color-profile=srgb",
        "--hide-scrollbars",
        `--user-data-dir=${browser.folder}`,
        "--remote-debugging-pipe",
        "about:blank",
      ],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
    );
    browser.answers = new Map();
    browser.listeners = [];
    browser.last = 0;
    let rest = Buffer.alloc(0);
    browser.process.stdio[4].on("data", (data) => {
      rest = Buffer.concat([rest, data]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        browser.receive(JSON.parse(rest.subarray(0, end).toString()));
        rest = rest.subarray(end + 1);
      }
    });
    return browser;
  }
  receive(message) {
    if (message.id !== undefined) {
      const { resolve, reject } = this.answers.get(message.id);
      this.answers.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    } else {
      for (const listener of this.listeners) listener(message);
    }
  }
  send(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.answers.set(id, { resolve, reject }));
  }
  async page(width = 1280, height = 800) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    await page.begin(width, height);
    return page;
  }
  async close() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    await this.send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

// A tab. `requests`: what it asked the network or the disk for; `complaints`: errors, also those of
// the content security policy.
class Page {
  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target, requests: [], complaints: [], dialogs: 0 });
    browser.listeners.push((message) => {
      if (message.sessionId !== session) return;
      const { method, params } = message;
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
      if (method === "Runtime.exceptionThrown")
        this.complaints.push(
          params.exceptionDetails.exception?.description ?? params.exceptionDetails.text,
        );
      if (method === "Log.entryAdded" && params.entry.level === "error")
        this.complaints.push(params.entry.text);
      if (method === "Page.javascriptDialogOpening") {
        this.dialogs += 1;
        this.send("Page.handleJavaScriptDialog", { accept: true });
      }
    });
  }
  send(method, params) {
    return this.browser.send(method, params, this.session);
  }
  async begin(width, height) {
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await this.send(`${domain}.enable`);
    await this.resize(width, height);
    this.downloads = join(this.browser.folder, `downloads-${this.target}`);
    await this.browser.send("Browser.setDownloadBehavior", {
      behavior: "allow",
      downloadPath: this.downloads,
    });
  }
  resize(width, height, scale = 1, mobile = false) {
    return this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: scale,
      mobile,
    });
  }
  prefer(scheme) {
    return this.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }],
    });
  }
  // Waits for a page of ours to be ready, or to say why it is not.
  async open(path, fragment = "") {
    await this.send("Page.navigate", { url: "about:blank" });
    await this.send("Page.navigate", { url: `file://${path}${fragment}` });
    await this.until(
      'document.body && (document.body.classList.contains("ready") || document.body.' +
        'classList.contains("failed"))',
    );
    // A browser drops keys that come before a page's first frame.
    await this.send("Page.bringToFront");
    await this.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
    );
  }
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  async until(condition, seconds = 30) {
    const deadline = Date.now() + 1000 * seconds;
    for (;;) {
      const value = await this.evaluate(condition).catch(() => false);
      if (value) return value;
      if (Date.now() > deadline) {
        const focus = await this.evaluate("document.activeElement?.outerHTML.slice(0, 120)");
        throw new Error(`waited ${seconds} s, and not yet: ${condition}; the focus is on ${focus}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  async press(key, modifiers = 0) {
    const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
    const codes = {
      Enter: 13,
      Escape: 27,
      ArrowLeft: 37,
      ArrowUp: 38,
      ArrowRight: 39,
      ArrowDown: 40,
      Tab: 9,
    };
    const code = codes[key] ?? key.toUpperCase().charCodeAt(0);
    await this.send("Input.dispatchKeyEvent", {
      type: "keyDown",
      key,
      text,
      modifiers,
      windowsVirtualKeyCode: code,
    });
    await this.send("Input.dispatchKeyEvent", {
      type: "keyUp",
      key,
      modifiers,
      windowsVirtualKeyCode: code,
    });
  }
  type(text) {
    return this.send("Input.insertText", { text });
  }
  async mouse(type, x, y, more = {}) {
    await this.send("Input.dispatchMouseEvent", {
      type,
      x,
      y,
      button: "left",
      buttons: type === "mouseReleased" ? 0 : 1,
      clickCount: 1,
      ...more,
    });
  }
  async click(x, y) {
    await this.mouse("mousePressed", x, y);
    await this.mouse("mouseReleased", x, y);
  }
  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }
}
