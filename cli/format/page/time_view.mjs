// Weight over time as bars, with a brush. The mouse drags a range; on the keyboard arrows move it,
// with Shift they make it wider or narrower, Escape takes it away.
import { element, fill, fitCanvas, styleValue } from "./dom.mjs";
import { timeText, weightText } from "./text.mjs";

const STEPS = 40;

export class TimeView {
  // `onrange([from, to] or null)`, in ticks
  constructor(parent, { onrange }) {
    this.onrange = onrange;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.area = element(
      "div",
      {
        class: "time",
        role: "slider",
        tabindex: "0",
        "aria-label": "time range; arrows move it, Shift and arrows change its length",
      },
      this.canvas,
    );
    this.caption = element("div", { class: "time-caption" });
    fill(parent, this.area, this.caption);
    this.dragging = null;
    this.area.addEventListener("pointerdown", (event) => this.begin(event));
    this.area.addEventListener("pointermove", (event) => this.move(event));
    this.area.addEventListener("pointerup", (event) => this.end(event));
    this.area.addEventListener("pointercancel", () => (this.dragging = null));
    this.area.addEventListener("dblclick", () => this.onrange(null));
    this.area.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resized?.()).observe(this.area);
  }

  // So many that few samples still make bars that can be seen.
  bins(samples) {
    return Math.max(
      1,
      Math.min(1280, Math.floor(this.area.clientWidth / 2), Math.max(60, Math.ceil(samples / 3))),
    );
  }

  // bars: a Float64Array a class; colors: one a class; `whole`: ticks of the recording; `tick` in
  // ns; `cpus`: the bars are CPU time, so that their height is a number of processors.
  show({ bars, colors, range, whole, tick, cpus }) {
    Object.assign(this, { bars, colors, range, whole, tick, cpus });
    this.draw(range);
  }

  sumAt(bin) {
    return this.bars.reduce((sum, bar) => sum + bar[bin], 0);
  }

  // The height of the strip. A few bars that are far higher than all others would leave nothing of
  // these: such are cut off.
  top() {
    const sums = Array.from(this.bars[0], (_, bin) => this.sumAt(bin)).filter((sum) => sum > 0);
    sums.sort((a, b) => a - b);
    const high = sums[Math.floor(0.98 * (sums.length - 1))] ?? 1;
    const highest = sums.at(-1) ?? 1;
    return highest > 2 * high ? 1.25 * high : highest;
  }

  // "up to 3.2 CPUs"
  heightText() {
    const top = this.top();
    const binNs = (this.whole * this.tick) / this.bars[0].length;
    const cpus = top / binNs;
    const digits = cpus >= 10 ? 0 : cpus >= 0.95 ? 1 : 2;
    const amount = this.cpus ? `${cpus.toFixed(digits)} CPUs` : weightText(top);
    return `height: ${amount}`;
  }

  draw(range) {
    const width = this.area.clientWidth;
    const height = this.area.clientHeight;
    if (width === 0 || !this.bars) return;
    const context = fitCanvas(this.canvas, width, height);
    const bins = this.bars[0].length;
    const top = this.top();
    const room = height - 4;
    const step = width / bins;
    const wide = Math.max(0.5, step - (step > 3 ? 1 : 0));
    for (let bin = 0; bin < bins; bin++) {
      let y = height;
      this.bars.forEach((bar, i) => {
        if (!(bar[bin] > 0)) return;
        const high = Math.min((bar[bin] / top) * room, y - (height - room));
        context.fillStyle = this.colors[i];
        context.fillRect(bin * step, y - high, wide, high);
        y -= high;
      });
      if (this.sumAt(bin) <= top * 1.001) continue;
      // Cut off: a mark on its top.
      context.fillStyle = styleValue("--mark");
      context.fillRect(bin * step, 0, Math.max(1, wide), 3);
    }
    if (range) {
      const [from, to] = range.map((time) => (time / this.whole) * width);
      context.fillStyle = styleValue("--veil");
      context.fillRect(0, 0, from, height);
      context.fillRect(to, 0, width - to, height);
      context.fillStyle = styleValue("--mark");
      context.fillRect(from - 1, 0, 2, height);
      context.fillRect(to - 1, 0, 2, height);
    }
    const text = this.text(range);
    this.area.setAttribute("aria-valuemin", "0");
    this.area.setAttribute("aria-valuemax", String(this.whole));
    this.area.setAttribute("aria-valuenow", String(range ? range[0] : 0));
    this.area.setAttribute("aria-valuetext", text);
    fill(
      this.caption,
      element("span", {}, "0 s"),
      element("span", { class: "time-height" }, this.heightText()),
      element("span", { class: range ? "chosen" : "" }, text),
      range ? element("button", { onclick: () => this.onrange(null) }, "all time") : null,
      element("span", {}, timeText(this.whole * this.tick)),
    );
  }

  text(range) {
    if (!range) return "drag to choose a time";
    const [from, to] = range.map((time) => time * this.tick);
    return `${timeText(from)} to ${timeText(to)} (${timeText(to - from)})`;
  }

  tickAt(event) {
    const area = this.area.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - area.left) / area.width));
    return Math.round(share * this.whole);
  }

  begin(event) {
    if (event.button !== 0) return;
    this.dragging = this.tickAt(event);
    this.area.setPointerCapture(event.pointerId);
  }
  move(event) {
    if (this.dragging !== null) this.draw(this.dragged(event));
  }
  end(event) {
    if (this.dragging === null) return;
    const range = this.dragged(event);
    this.dragging = null;
    // A click is no range.
    if (range[1] - range[0] > this.whole / 200) this.onrange(range);
    else this.draw(this.range);
  }
  dragged(event) {
    const here = this.tickAt(event);
    return [Math.min(here, this.dragging), Math.max(here, this.dragging)];
  }

  key(event) {
    const { whole } = this;
    const step = Math.max(1, Math.round(whole / STEPS));
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape" && this.range) {
      this.onrange(null);
    } else if (direction) {
      let [from, to] = this.range ?? [0, step * 4];
      if (event.shiftKey) to = Math.max(from + step, Math.min(whole, to + direction * step));
      else if (this.range) [from, to] = [from + direction * step, to + direction * step];
      if (from < 0) [from, to] = [0, to - from];
      if (to > whole) [from, to] = [Math.max(0, from - (to - whole)), whole];
      this.onrange([from, to]);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
