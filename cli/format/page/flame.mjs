// A tree of boxes on a canvas: flame graph (root below) or icicle (root above).
//
// The canvas is as large as what is visible and stays in place while its scroller moves, so stacks
// may be of any depth. Boxes below half a pixel are never drawn: siblings share a hatched box that
// says how many they are, and opens.
// For those who do not see the canvas, the box under the keyboard's cursor is an element of the
// role treeitem beside it.
import { element, fill, fitCanvas, styleValue } from "./dom.mjs";
import { boxName } from "./tree.mjs";
import { bounded, shortName } from "./text.mjs";

const LEAST_PIXELS = 0.5;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const PADDING = 4;
const LEAST_TEXT = 26;
const NARROW = 3;
const LEAST_POOL = 8;

// Widths of characters, measured once each: measuring every name would take longer than drawing.
class TextFitter {
  constructor(context) {
    this.context = context;
    this.widths = new Map();
  }
  width(character) {
    let width = this.widths.get(character);
    if (width === undefined) {
      this.context.font = FONT;
      width = this.context.measureText(character).width;
      this.widths.set(character, width);
    }
    return width;
  }
  fits(text, room) {
    let used = 0;
    for (const character of text) {
      used += this.width(character);
      if (used > room) return false;
    }
    return true;
  }
  // The text, or a function's name without its arguments, or the beginning.
  fit(text, room, isFunction = false) {
    if (text.length <= room && this.fits(text, room)) return text;
    const short = isFunction ? shortName(text.slice(0, 400)) : text.slice(0, 400);
    if (this.fits(short, room)) return short;
    let used = this.width("…");
    let out = "";
    for (const character of short) {
      used += this.width(character);
      if (used > room) break;
      out += character;
    }
    return out === "" ? "" : `${out}…`;
  }
}

export class FlameView {
  // `options`: { label, color(box, narrow) -> [{ color, share }...], text(box), onzoom(path),
  // onpick(box), onhover(box or null, event), onselect(box), onmenu(box, x, y) }
  constructor(parent, options) {
    this.options = options;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.item = element(
      "div",
      { class: "unseen", role: "treeitem", id: `${options.id}-item` },
      "no box is chosen",
    );
    this.space = element("div", { class: "flame-space" });
    this.scroller = element(
      "div",
      {
        class: "flame",
        role: "tree",
        tabindex: "0",
        "aria-label": options.label,
        "aria-activedescendant": this.item.id,
      },
      this.canvas,
      this.space,
      this.item,
    );
    fill(parent, this.scroller);
    this.fitter = new TextFitter(document.createElement("canvas").getContext("2d"));
    this.rows = [];
    this.cursor = null;
    this.hovered = null;
    this.zoomed = null;
    this.matches = null;
    this.scroller.addEventListener("scroll", () => this.draw());
    this.scroller.addEventListener("mousemove", (event) => this.hover(this.boxAt(event), event));
    this.scroller.addEventListener("mouseleave", (event) => this.hover(null, event));
    this.scroller.addEventListener("click", (event) => this.click(event));
    this.scroller.addEventListener("dblclick", (event) => {
      const place = this.boxAt(event);
      if (place?.box.kind === "function") options.onpick?.(place.box);
    });
    this.scroller.addEventListener("contextmenu", (event) => this.menu(event));
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("focus", () => {
      if (this.cursor === null && this.zoomed) this.select(this.zoomed);
    });
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(this.scroller);
  }

  show(tree, { zoom = [], icicle = true, matches = null } = {}) {
    const fresh = this.tree !== tree || this.icicle !== icicle;
    this.tree = tree;
    this.icicle = icicle;
    this.matches = matches;
    this.zoomed = tree.root;
    for (const key of zoom) {
      const next = this.zoomed.child(key);
      if (!next) break;
      this.zoomed = next;
    }
    tree.view = this.zoomed.size;
    if (fresh) {
      this.cursor = null;
      this.hovered = null;
    }
    this.layout(fresh);
    if (!fresh) return;
    // Another tree: what was under the cursor is no more.
    if (document.activeElement === this.scroller) this.select(this.zoomed);
    else this.item.textContent = "no box is chosen";
  }

  layout(fresh = false) {
    if (!this.tree) return;
    const width = this.scroller.clientWidth;
    if (width === 0) return;
    this.width = width;
    // A finger needs more room than a mouse.
    this.look = {}; // colours are found anew for each layout, and not for each drawing
    this.rowHeight = matchMedia("(pointer: coarse)").matches || innerWidth < 600 ? 26 : 20;
    const rows = [];
    const put = (box, depth, x, w) => (rows[depth] ??= []).push({ box, x, w, depth });
    for (let above = this.zoomed.parent; above !== null; above = above.parent)
      put(above, above.depth, 0, width);
    const scale = this.zoomed.size > 0 ? width / this.zoomed.size : 0;
    const least = scale > 0 ? LEAST_PIXELS / scale : Infinity;
    const waiting = [[this.zoomed, 0]];
    while (waiting.length > 0) {
      const [box, x] = waiting.pop();
      put(box, box.depth, x, box.size * scale);
      let from = box;
      if (box.kind === "other" && box !== this.zoomed) {
        from = box.size * scale >= LEAST_POOL ? box.pool() : null;
      }
      if (from === null) continue;
      const { shown, rest } = from.children(least);
      let at = x;
      for (const child of shown) {
        waiting.push([child, at]);
        at += child.size * scale;
      }
      if (rest !== null && rest.size * scale >= LEAST_PIXELS) {
        waiting.push([rest, at]);
      }
    }
    for (const row of rows) row?.sort((a, b) => a.x - b.x);
    this.rows = rows;
    const height = rows.length * this.rowHeight;
    this.space.style.height = `${height}px`;
    if (fresh) this.scroller.scrollTop = this.icicle ? 0 : height;
    this.draw();
  }

  topOf(depth) {
    const row = this.icicle ? depth : this.rows.length - 1 - depth;
    // Few rows of a flame graph stand on the floor.
    const spare = this.icicle
      ? 0
      : Math.max(0, this.scroller.clientHeight - this.rows.length * this.rowHeight);
    return row * this.rowHeight + spare;
  }

  draw() {
    if (!this.tree) return;
    const height = this.scroller.clientHeight;
    const context = fitCanvas(this.canvas, this.width, height);
    const top = this.scroller.scrollTop;
    this.colors = {
      gap: styleValue("--panel"),
      ink: styleValue("--ink"),
      hatch: styleValue("--hatch"),
      mark: styleValue("--mark"),
    };
    context.font = FONT;
    context.textBaseline = "middle";
    for (const row of this.rows) {
      if (!row) continue;
      const y = this.topOf(row[0].depth) - top;
      if (y + this.rowHeight < 0 || y > height) continue;
      for (const place of row) this.drawBox(context, place, y);
    }
    this.outline(context, this.hovered, top, 1.5);
    this.outline(
      context,
      this.cursor && this.placeOf(this.cursor),
      top,
      document.activeElement === this.scroller ? 3 : 2,
    );
  }

  drawBox(context, { box, x, w, depth }, y) {
    const h = this.rowHeight - 1;
    const left = Math.round(x * 2) / 2;
    const wide = Math.max(0.5, Math.round((x + w) * 2) / 2 - left - (w > 3 ? 1 : 0));
    if (box.kind === "other") {
      this.drawOther(context, box, { left, y, wide, h });
      return;
    }
    const dim = depth < this.zoomed.depth || (this.matches !== null && !this.isMatch(box));
    context.globalAlpha = dim ? 0.38 : 1;
    if (box.look !== this.look) {
      box.look = this.look;
      box.parts = this.options.color(box, w < NARROW);
    }
    const parts = box.parts;
    let at = left;
    parts.forEach(({ color, share, hatched }, i) => {
      const end = i === parts.length - 1 ? left + wide : at + wide * share;
      context.fillStyle = color;
      context.fillRect(at, y, end - at, h);
      if (hatched && end - at > 6) this.hatch(context, at, y, end - at, h, hatched);
      at = end;
    });
    context.globalAlpha = dim ? 0.75 : 1;
    if (wide > LEAST_TEXT) {
      const text = this.fitter.fit(
        this.options.text(box),
        wide - 2 * PADDING,
        box.kind === "function",
      );
      context.fillStyle = parts.length === 1 ? (parts[0].ink ?? "#15181c") : "#15181c";
      if (dim) context.fillStyle = this.colors.ink;
      if (text !== "") context.fillText(text, left + PADDING, y + h / 2 + 0.5);
    }
    context.globalAlpha = 1;
  }

  drawOther(context, box, { left, y, wide, h }) {
    context.fillStyle = this.colors.hatch;
    context.globalAlpha = 0.25;
    context.fillRect(left, y, wide, h);
    if (wide > 6) this.hatch(context, left, y, wide, h, "up");
    context.globalAlpha = 1;
    if (wide <= LEAST_TEXT + 10) return;
    // The text stands on plain ground: it could not be read on the hatching.
    const room = wide - 4 * PADDING;
    const whole = this.options.text(box);
    const text = this.fitter.fits(whole, room) ? whole : this.fitter.fit(`(${box.count})`, room);
    if (text === "") return;
    const width = [...text].reduce((sum, character) => sum + this.fitter.width(character), 0);
    context.fillStyle = this.colors.gap;
    context.fillRect(left + PADDING, y + 2, width + 2 * PADDING, h - 4);
    context.fillStyle = this.colors.ink;
    context.fillText(text, left + 2 * PADDING, y + h / 2 + 0.5);
  }

  // "up": lines that rise to the right; "down": lines that fall.
  hatch(context, x, y, w, h, direction) {
    context.save();
    context.beginPath();
    context.rect(x, y, w, h);
    context.clip();
    context.strokeStyle = this.colors.hatch;
    context.lineWidth = 1;
    context.beginPath();
    const [begin, end] = direction === "down" ? [y, y + h] : [y + h, y];
    for (let at = x - h; at < x + w; at += 6) {
      context.moveTo(at, begin);
      context.lineTo(at + h, end);
    }
    context.stroke();
    context.restore();
  }

  outline(context, place, top, width) {
    if (!place) return;
    context.strokeStyle = this.colors.mark;
    context.lineWidth = width;
    context.strokeRect(
      place.x + 0.5,
      this.topOf(place.depth) - top + 0.5,
      Math.max(2, place.w - 2),
      this.rowHeight - 2,
    );
  }

  isMatch(box) {
    return box.kind === "function" && this.matches[box.function] === 1;
  }

  placeOf(box) {
    return this.rows[box.depth]?.find((place) => place.box === box) ?? null;
  }

  boxAt(event) {
    const area = this.scroller.getBoundingClientRect();
    const x = event.clientX - area.left;
    const y = event.clientY - area.top + this.scroller.scrollTop;
    const spare = this.topOf(this.icicle ? 0 : this.rows.length - 1);
    const row = Math.floor((y - spare) / this.rowHeight);
    const places = this.rows[this.icicle ? row : this.rows.length - 1 - row];
    return places?.find((place) => x >= place.x && x < place.x + place.w) ?? null;
  }

  hover(place, event) {
    if (place === this.hovered && place === null) return;
    this.hovered = place;
    this.draw();
    this.options.onhover?.(place?.box ?? null, event);
  }

  click(event) {
    const place = this.boxAt(event);
    if (!place) return;
    const { box } = place;
    // A finger has no hover: its first tap shows what it touches, the second zooms.
    const touched = event.pointerType === "touch" && this.cursor !== box;
    this.select(box);
    if (!touched) this.options.onzoom?.(box.path);
  }

  menu(event) {
    const place = this.boxAt(event);
    if (!place || !this.options.onmenu) return;
    event.preventDefault();
    this.select(place.box);
    this.options.onmenu(place.box, event.clientX, event.clientY, this.options.onzoom);
  }

  // At the box under the cursor.
  menuByKey(box, place) {
    if (!place || !this.options.onmenu) return;
    const area = this.scroller.getBoundingClientRect();
    const y = area.top + this.topOf(place.depth) - this.scroller.scrollTop + this.rowHeight;
    this.options.onmenu(box, area.left + place.x + PADDING, y, this.options.onzoom);
  }

  select(box) {
    this.cursor = box;
    const siblings = box.parent?.shown.includes(box) ? box.parent.shown : [box];
    this.item.setAttribute("aria-level", String(box.depth + 1));
    this.item.setAttribute("aria-posinset", String(siblings.indexOf(box) + 1));
    this.item.setAttribute("aria-setsize", String(siblings.length));
    this.item.setAttribute("aria-selected", "true");
    this.item.textContent = this.options.describe(box);
    this.options.onselect?.(box, this.options.onzoom);
    const place = this.placeOf(box);
    if (place) {
      const y = this.topOf(place.depth);
      if (y < this.scroller.scrollTop) this.scroller.scrollTop = y;
      const bottom = y + this.rowHeight - this.scroller.clientHeight;
      if (bottom > this.scroller.scrollTop) this.scroller.scrollTop = bottom;
    }
    this.draw();
  }

  // Arrows go to parent, child and siblings as they are drawn.
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const cursor = this.cursor ?? this.zoomed;
    const place = this.placeOf(cursor);
    const visible = (box) => this.placeOf(box);
    let next = null;
    const inward = this.icicle ? "ArrowDown" : "ArrowUp";
    const outward = this.icicle ? "ArrowUp" : "ArrowDown";
    if (event.key === inward) {
      next = this.rows[cursor.depth + 1]?.find((one) => one.box.parent === cursor)?.box;
    } else if (event.key === outward) {
      next = cursor.parent;
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const row = this.rows[cursor.depth] ?? [];
      next = row[row.indexOf(place) + (event.key === "ArrowLeft" ? -1 : 1)]?.box;
    } else if (event.key === "Home" || event.key === "0") {
      this.options.onzoom?.([]);
      next = this.tree.root;
    } else if (event.key === "Enter" || event.key === "+") {
      this.options.onzoom?.(cursor.path);
    } else if (event.key === "-") {
      this.options.onzoom?.(this.zoomed.parent?.path ?? []);
    } else if (event.key === "f") {
      if (cursor.kind === "function") this.options.onpick?.(cursor);
    } else if (event.key === "m" || event.key === "ContextMenu") {
      this.menuByKey(cursor, place);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (next && visible(next)) this.select(next);
  }

  // The next box that matches the search, from the cursor on, row by row; `step` is 1 or -1.
  nextMatch(step) {
    if (this.matches === null) return;
    const found = this.rows.flat().filter((place) => this.isMatch(place.box));
    if (found.length === 0) return;
    const at = found.findIndex((place) => place.box === this.cursor);
    const next =
      at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length;
    this.select(found[next].box);
  }
}

export function boxLabel(profile, box) {
  return bounded(boxName(profile, box), 2000);
}
