// A long table of which only the visible rows exist. Every column sorts; arrows move, Enter opens.
import { element, fill } from "./dom.mjs";

const ROW_HEIGHT = 27;
const SPARE_ROWS = 8;

export class TableView {
  // `onopen(id)`, `onsort(column id)`
  constructor(parent, { label, onopen, onsort }) {
    this.onopen = onopen;
    this.onsort = onsort;
    this.head = element("thead");
    this.body = element("tbody");
    this.table = element("table", { "aria-label": label }, this.head, this.body);
    this.scroller = element("div", { class: "table-scroller" }, this.table);
    fill(parent, this.scroller);
    this.current = 0;
    this.scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.body.addEventListener("keydown", (event) => this.key(event));
  }

  // columns: [{ id, title, hint, numeric, cell(id) -> element or text }]; `order`: row ids.
  show(columns, order, { sort, ascending }) {
    this.columns = columns;
    this.order = order;
    this.current = 0;
    fill(
      this.head,
      element(
        "tr",
        {},
        ...columns.map((column) => {
          const sorted = column.id === sort;
          return element(
            "th",
            {
              scope: "col",
              class: column.numeric ? "numeric" : "name",
              "aria-sort": sorted ? (ascending ? "ascending" : "descending") : "none",
            },
            element(
              "button",
              { title: column.hint ?? column.title, onclick: () => this.onsort(column.id) },
              element("span", { class: "column-title" }, column.title),
              sorted ? (ascending ? " ▴" : " ▾") : "",
            ),
          );
        }),
      ),
    );
    this.table.setAttribute("aria-rowcount", String(order.length + 1));
    this.first = -1;
    this.scroller.scrollTop = 0;
    this.draw();
  }

  draw() {
    if (!this.order) return;
    const count = this.order.length;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const last = Math.min(
      count,
      Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW_HEIGHT) + SPARE_ROWS,
    );
    if (first === this.first && last === this.last) return;
    const focused = this.body.contains(document.activeElement);
    this.first = first;
    this.last = last;
    const rows = [];
    for (let at = first; at < last; at++) rows.push(this.row(at));
    fill(this.body, this.pad(first), ...rows, this.pad(count - last));
    if (focused) this.body.querySelector('tr[tabindex="0"]')?.focus({ preventScroll: true });
  }

  pad(rows) {
    const cell = element("td", { colspan: String(this.columns.length) });
    cell.style.height = `${rows * ROW_HEIGHT}px`;
    return element("tr", { "aria-hidden": "true", class: "pad" }, cell);
  }

  row(at) {
    const id = this.order[at];
    return element(
      "tr",
      {
        tabindex: at === this.current ? "0" : "-1",
        "data-at": String(at),
        "aria-rowindex": String(at + 2),
        onclick: () => this.onopen(id),
        onfocus: () => (this.current = at),
      },
      ...this.columns.map((column) =>
        element(
          column.numeric ? "td" : "th",
          { class: column.numeric ? "numeric" : "name", scope: column.numeric ? null : "row" },
          column.cell(id),
        ),
      ),
    );
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key === "Enter") {
      this.onopen(this.order[this.current]);
    } else if (event.key in steps) {
      this.current = Math.max(0, Math.min(this.order.length - 1, this.current + steps[event.key]));
      const y = this.current * ROW_HEIGHT;
      const room = this.scroller.clientHeight - 2 * ROW_HEIGHT;
      if (y < this.scroller.scrollTop) this.scroller.scrollTop = y;
      if (y > this.scroller.scrollTop + room) this.scroller.scrollTop = y - room;
      this.first = -1;
      this.draw();
      this.body.querySelector(`tr[data-at="${this.current}"]`)?.focus({ preventScroll: true });
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
