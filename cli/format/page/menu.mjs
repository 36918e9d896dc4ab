// A menu at a place on the page. Arrows move in it, Enter chooses, Escape and a click elsewhere
// close it; then the focus is where it was.
import { byId, element, fill } from "./dom.mjs";

// items: [{ text, action }]
export function openMenu(x, y, items) {
  const menu = byId("menu");
  const before = document.activeElement;
  const close = (back) => {
    menu.hidden = true;
    removeEventListener("pointerdown", outside, true);
    if (back) before?.focus?.({ preventScroll: true });
  };
  const outside = (event) => {
    if (!menu.contains(event.target)) close(false);
  };
  const choose = (action) => () => {
    close(true);
    action();
  };
  fill(
    menu,
    ...items.map(({ text, action }) =>
      element("button", { role: "menuitem", tabindex: "-1", onclick: choose(action) }, text),
    ),
  );
  menu.onkeydown = (event) => {
    const buttons = [...menu.children];
    const at = buttons.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1, Tab: event.shiftKey ? -1 : 1 }[event.key];
    if (event.key === "Escape") close(true);
    else if (step) buttons[(at + step + buttons.length) % buttons.length].focus();
    else if (event.key === "Home") buttons[0].focus();
    else if (event.key === "End") buttons.at(-1).focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  menu.hidden = false;
  const area = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(x, innerWidth - area.width - 8))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, innerHeight - area.height - 8))}px`;
  menu.firstChild.focus();
  addEventListener("pointerdown", outside, true);
}
