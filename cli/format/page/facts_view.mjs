// The head of the page: what was recorded and how, and whether its numbers can be trusted.
import { element, fill } from "./dom.mjs";
import { bounded, countText, percent, thousands, timeText, weightsName } from "./text.mjs";

const COMPLETE_ENOUGH = 0.9;

function factChip(text, title, warns = false) {
  return element("span", { class: warns ? "fact warns" : "fact", title }, text);
}

export function showFacts(title, line, details, facts) {
  // What was profiled; a file of another tool is called as the file.
  const name = facts.title || facts.source || facts.command || "";
  document.title = `${bounded(name || "profile", 80)} – labelscope`;
  fill(title, element("bdi", { title: bounded(facts.command || name, 2000) }, bounded(name, 300)));
  const rate = facts.period_ns > 0 ? ` at ${thousands(1e9 / facts.period_ns)} Hz` : "";
  const chips = [
    factChip(countText(facts.written), "written to this page"),
    facts.backend
      ? factChip(`${facts.event}${rate}`, "what triggered the samples")
      : factChip(
          `${facts.mode}, by ${facts.event}`,
          "what is counted, and the program that has counted it",
        ),
  ];
  if (facts.backend) chips.push(factChip(`by ${facts.backend}`, "how threads were read"));
  if (facts.duration_ns > 0)
    chips.push(factChip(`${timeText(facts.duration_ns)} long`, "length of the recording"));
  if (facts.stacks) {
    const { all, complete } = facts.stacks;
    chips.push(
      factChip(
        `${percent(complete, all)} of stacks complete`,
        Object.entries(facts.stacks.ends)
          .map(([end, count]) => `${end}: ${thousands(count)}`)
          .join("\n"),
        complete < COMPLETE_ENOUGH * all,
      ),
    );
  }
  if (facts.dropped > 0)
    chips.push(
      factChip(`${thousands(facts.dropped)} dropped`, "the kernel's buffer was full", true),
    );
  if (facts.truncated > 0)
    chips.push(
      factChip(`${thousands(facts.truncated)} truncated`, "more labels than are kept", true),
    );
  if (facts.part)
    chips.unshift(factChip(`a part: ${bounded(facts.part, 80)}`, bounded(facts.part, 2000), true));
  fill(line, ...chips, element("span", { class: "ledger-word" }, "ledger"));

  const rows = [
    ["a part", facts.part ?? ""],
    ["command", facts.command],
    [weightsName(), facts.time_line],
    [facts.counted ?? "samples", facts.ledger_line],
    [
      "stacks",
      facts.stacks
        ? Object.entries(facts.stacks.ends)
            .map(([end, n]) => `${thousands(n)} ${end}`)
            .join(", ")
        : facts.has_stacks
          ? ""
          : "none taken",
    ],
    [
      "begun",
      facts.start_unix_ms > 0
        ? new Date(facts.start_unix_ms)
            .toISOString()
            .replace("T", " ")
            .replace(/\.\d+Z$/, " UTC")
        : "",
    ],
    ["kernel", facts.kernel],
    ["call graph", facts.call_graph],
    ["mode", facts.mode],
    ["file", facts.source ?? ""],
    ["labelscope", facts.version],
    ...(facts.processes ?? []).map(({ pid, comm, attributes }) => [
      `process ${pid} (${comm})`,
      attributes.join(", "),
    ]),
    ...Object.entries(facts.counters)
      .filter(([name]) => !name.startsWith("stacks-"))
      .map(([name, n]) => [facts.counter_words?.[name] ?? name, thousands(n)]),
  ];
  fill(
    details,
    element(
      "dl",
      {},
      ...rows
        .filter(([, value]) => value !== "")
        .flatMap(([name, value]) => [
          element("dt", {}, bounded(name, 80)),
          element("dd", {}, element("bdi", {}, bounded(String(value), 2000))),
        ]),
    ),
  );
}
