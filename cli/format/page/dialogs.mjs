// The keys, and what can be saved.
import { byId, element, fill, saveFile } from "./dom.mjs";
import { compressed, csvText, foldedText, pprofBytes } from "./exports.mjs";
import { countText, theWeights, wholeText } from "./text.mjs";

const KEYS = [
  ["1 2 3", "flame graph, table, function"],
  ["/", "search"],
  ["n  N", "next and previous match"],
  ["← ↑ → ↓", "move in the flame graph or the table"],
  ["Enter  +", "zoom in, or open"],
  ["−  0", "zoom out, all the way"],
  ["f", "the function under the cursor"],
  ["m", "what can be done with the box under the cursor"],
  ["i", "flame graph or icicle"],
  ["u", "upside down: from the ends of the stacks"],
  ["g", "group by a label"],
  ["c", "compare A and B"],
  ["l", "labels"],
  ["t", "time"],
  ["s", "download"],
  ["d", "light or dark"],
  ["x", "take all filters away"],
  ["Esc", "close, or step back"],
  ["?", "this help"],
];

export function openHelp() {
  const dialog = byId("help");
  fill(
    dialog,
    element("h2", {}, "Keys"),
    element(
      "dl",
      { class: "keys" },
      ...KEYS.flatMap(([key, text]) => [
        element("dt", {}, element("kbd", {}, key)),
        element("dd", {}, text),
      ]),
    ),
    element(
      "p",
      {},
      `A box is as wide as ${theWeights()} in it. Click a label's value to see only what it has, `,
      "its − to leave it out. ",
      "A thread that changed its name has its last one everywhere, also in samples before. ",
      "The address always has the whole view: copy it to show somebody the same in the same file.",
    ),
    element("button", { onclick: () => dialog.close() }, "Close"),
  );
  dialog.showModal();
}

// `slice`: what is chosen, `part`: in words; `groups`: keys in front of folded stacks;
// `onproblem(text)`
export function openSave(profile, { slice, part, groups, onproblem }) {
  const dialog = byId("save");
  const save = (name, make) => async () => {
    dialog.close();
    try {
      saveFile(name, await make());
    } catch (error) {
      onproblem(`${name} could not be made: ${error.message}`);
    }
  };
  fill(
    dialog,
    element("h2", {}, "Download what is chosen"),
    element(
      "p",
      {},
      `${wholeText(slice.weight)}, ${countText(slice.count)}: ${part || "all of it"}.`,
    ),
    element(
      "div",
      { class: "choices" },
      element(
        "button",
        { onclick: save("selection.pb.gz", () => compressed(pprofBytes(profile, slice, part))) },
        "pprof (.pb.gz)",
      ),
      element(
        "button",
        { onclick: save("selection.folded", () => new Blob([foldedText(profile, slice, groups)])) },
        "folded stacks",
      ),
      element(
        "button",
        { onclick: save("selection.csv", () => new Blob([csvText(profile, slice)])) },
        "CSV, a column for each label",
      ),
    ),
    element("button", { onclick: () => dialog.close() }, "Close"),
  );
  dialog.showModal();
}
