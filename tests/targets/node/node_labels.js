// Programs in JavaScript that set labels and know what they computed with which.
//
//   node_labels.js shares SECONDS   prints the CPU time of each tenant, by process.cpuUsage
//   node_labels.js tasks            until stdin ends
//
// The tasks have a witness: a second label source, to which a task writes its number by itself, only
// while it computes, with no code of the module. So a sample with the span_id n is of task n, and
// its root_span_id is 1 or 2, by the half of the task's round; or it is 3 in a callback that has no
// labels, and 4 in one that another task has called.
'use strict';
const { AsyncResource } = require('node:async_hooks');
const { EventEmitter, once } = require('node:events');
const timers = require('node:timers/promises');
const { Labels, runWithLabels } = require('customlabels');

const TASKS = 2000;

function cpuTime() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

let sink = 0;
function compute(rounds) {
  for (let i = 0; i < rounds; ++i) sink = (sink * 31 + i) % 1000003;
}

// Requests of three tenants are interleaved: each waits in another way between its parts.
async function shares(seconds) {
  const spent = { acme: 0, globex: 0, initech: 0 };
  const end = Date.now() + 1000 * seconds;
  async function request(tenant, rounds, rest) {
    for (let part = 0; part < 4; ++part) {
      const begin = cpuTime();
      for (let i = 0; i < 20; ++i) compute(rounds);
      spent[tenant] += cpuTime() - begin;
      await rest();
    }
  }
  async function client(tenant, rounds, rest) {
    while (Date.now() < end) await runWithLabels({ tenant }, request, tenant, rounds, rest);
  }
  const tick = () => new Promise((resolve) => process.nextTick(resolve));
  await Promise.all([
    client('acme', 60000, () => timers.setImmediate()), client('acme', 20000, () => timers.setImmediate().then(tick)),
    client('globex', 30000, () => timers.setTimeout(1)),
    client('initech', 10000, () => Promise.resolve().then(() => timers.setImmediate())),
  ]);
  console.log(JSON.stringify(spent));
}

function tasks() {
  const witness = require('witness.node');
  const second = new Labels({ half: 'second' });
  const bus = new EventEmitter();
  bus.setMaxListeners(0);
  let ended = false;
  let held = null;
  process.stdin.on('data', () => { held = TASKS / 2; });
  process.stdin.on('end', () => { ended = true; });

  // The number must be taken away before the task rests.
  function computeWithWitness(number, part) {
    witness.put(number, part);
    compute(20000);
    witness.clear();
  }

  // Each of these resumes the task in another way.
  const rests = [
    () => Promise.resolve(),
    () => timers.setImmediate(),
    () => new Promise((resolve) => process.nextTick(resolve)),
    () => new Promise((resolve) => queueMicrotask(resolve)),
    () => timers.setTimeout(1),
    () => once(bus, 'tick'),
  ];

  async function round(number) {
    computeWithWitness(number, 1);
    await rests[number % rests.length]();
    computeWithWitness(number, 1);
    await second.run(async () => {
      computeWithWitness(number, 2);
      await rests[(number + 1) % rests.length]();
      computeWithWitness(number, 2);
    });
    computeWithWitness(number, 1);
    // What was bound without labels has none, whoever calls it.
    if (number % 7 === 0) unlabelled(number);
    computeWithWitness(number, 1);
    // Promises, ticks and microtasks alone would leave the event loop no time.
    await timers.setImmediate();
    computeWithWitness(number, 1);
    if (held === number) {
      console.log(JSON.stringify({ tid: witness.tid(), task: number }));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);  // until the test ends it
    }
  }
  const unlabelled = AsyncResource.bind(() => computeWithWitness(0, 4));

  async function work(number) {
    while (!ended) await round(number);
  }
  const ticking = setInterval(() => {
    for (let i = 0; i < 20; ++i) computeWithWitness(0, 3);
    bus.emit('tick');
    if (ended) clearInterval(ticking);
  }, 5);
  for (let number = 1; number <= TASKS; ++number) runWithLabels({ task: number }, work, number);
  console.log('ready');
}

if (process.argv[2] === 'shares') shares(Number(process.argv[3]));
else tasks();
