// What labels cost a program in Node.js.
//
//     NODE_PATH=build/dev/writer-lib/node node tests/bench/node_labels.js
//
// Medians of rounds are shown. An await of a promise that is fulfilled is one step of an async
// function. The first use of an AsyncLocalStorage, and then that of labels, makes each step take
// longer from then on, so what is measured without them comes first.
'use strict';
const { AsyncLocalStorage } = require('node:async_hooks');
const { Labels, runWithLabels } = require('customlabels');

const ROUNDS = 15;
const CALLS = 20000;
const storage = new AsyncLocalStorage();
const constant = new Labels({ tenant: 'acme' });
const nothing = () => 0;

async function steps() {
  for (let i = 0; i < CALLS; ++i) await null;
}
function repeat(call) {
  for (let i = 0; i < CALLS; ++i) call(i);
}

const alone = { 'a step of an async function': steps };
const stored = { 'the same, within AsyncLocalStorage.run': () => storage.run(1, steps) };
const rows = {
  'AsyncLocalStorage.run': () => repeat((i) => storage.run(i, nothing)),
  'Labels.run, of labels that were made before': () => repeat(() => constant.run(nothing)),
  'runWithLabels({ tenant: number })': () => repeat((i) => runWithLabels({ tenant: i }, nothing)),
  'a step, followed, without labels': steps,
  'a step, followed, with labels': () => constant.run(steps),
};

async function measure(works) {
  const times = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; ++round) {
    for (const [name, work] of Object.entries(works)) {
      const begin = process.hrtime.bigint();
      await work();
      times[name].push(Number(process.hrtime.bigint() - begin) / CALLS);
    }
  }
  for (const [name, each] of Object.entries(times)) {
    const median = each.sort((a, b) => a - b)[ROUNDS >> 1];
    console.log(`${name.padEnd(52)} ${Math.round(median).toString().padStart(6)} ns`);
  }
}

measure(alone).then(() => measure(stored)).then(() => measure(rows));
