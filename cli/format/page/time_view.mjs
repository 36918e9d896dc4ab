// Weight over time as bars, with a brush. The mouse drags a range; on the keyboard arrows move it,
// with Shift they make it wider or narrower, Escape takes it away.
import { element, fill, fitCanvas, styleValue } from "./dom.mjs";
import { timeText } from "./text.mjs";

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

  // bars: a Float64Array a class; colors: one a class; `last`: the last tick; `tick` in ns.
  show({ bars, colors, range, last, tick }) {
    Object.assign(this, { bars, colors, range, last, tick });
    this.draw(range);
  }

  draw(range) {
    const width = this.area.clientWidth;
    const height = this.area.clientHeight;
    if (width === 0 || !this.bars) return;
    const context = fitCanvas(this.canvas, width, height);
    const bins = this.bars[0].length;
    let largest = 0;
    for (let bin = 0; bin < bins; bin++)
      largest = Math.max(
        largest,
        this.bars.reduce((sum, bar) => sum + bar[bin], 0),
      );
    const step = width / bins;
    for (let bin = 0; bin < bins; bin++) {
      let y = height;
      this.bars.forEach((bar, i) => {
        if (!(bar[bin] > 0)) return;
        const high = (bar[bin] / largest) * (height - 4);
        context.fillStyle = this.colors[i];
        context.fillRect(bin * step, y - high, Math.max(0.5, step - (step > 3 ? 1 : 0)), high);
        y -= high;
      });
    }
    if (range) {
      const [from, to] = range.map((time) => (time / (this.last + 1)) * width);
      context.fillStyle = styleValue("--veil");
      context.fillRect(0, 0, from, height);
      context.fillRect(to, 0, width - to, height);
      context.fillStyle = styleValue("--mark");
      context.fillRect(from - 1, 0, 2, height);
      context.fillRect(to - 1, 0, 2, height);
    }
    const text = this.text(range);
    this.area.setAttribute("aria-valuemin", "0");
    this.area.setAttribute("aria-valuemax", String(this.last + 1));
    this.area.setAttribute("aria-valuenow", String(range ? range[0] : 0));
    this.area.setAttribute("aria-valuetext", text);
    fill(
      this.caption,
      element("span", {}, "0 s"),
      element("span", { class: range ? "chosen" : "" }, text),
      range ? element("button", { onclick: () => this.onrange(null) }, "all time") : null,
      element("span", {}, timeText((this.last + 1) * this.tick)),
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
    return Math.round(share * (this.last + 1));
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
    if (range[1] - range[0] > (this.last + 1) / 200) this.onrange(range);
    else this.draw(this.range);
  }
  dragged(event) {
    const here = this.tickAt(event);
    return [Math.min(here, this.dragging), Math.max(here, this.dragging)];
  }

  key(event) {
    const whole = this.last + 1;
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
