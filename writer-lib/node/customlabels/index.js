// Labels of requests and other asynchronous work, which a profiler outside of the process reads.
//
//   const { runWithLabels } = require('customlabels');
//   runWithLabels({ tenant: 'acme' }, () => handle(request, response));
//
// Where labels are kept, and when they are published:
//
//   AsyncLocalStorage ---> LabelSet      node takes it along to what this work starts: awaits, timers,
//                             ^          streams, and so on
//   thread (C) ---------------+          what is published now
//
// JavaScript runs on one thread, in callbacks that take turns. So a hook publishes at the beginning
// of each callback what the storage has for it, and at its end what was published before: nothing,
// if the event loop has called it, or the labels of the caller, if JavaScript has.
//
// docs/node.md of labelscope describes how far labels follow, and what that costs.
'use strict';

// There is one published set for all copies of this module. A copy of its own state would neither
// have the labels of the others nor know what they have published.
const shared = Symbol.for('customlabels 1');
if (globalThis[shared] !== undefined) {
  module.exports = globalThis[shared];
  return;
}

const { AsyncLocalStorage, AsyncResource, createHook } = require('node:async_hooks');
const native = require('./native');

const storage = new AsyncLocalStorage();

// What this thread publishes. While it is published, it must not be collected.
let published = null;

function publish(set) {
  if (set === published) return;
  native.publish(set === null ? null : set.handle);
  published = set;
}

// Callbacks that have begun and not ended, the outermost first, and what was published before each.
// An end without a beginning is that of a callback in which the hook was enabled.
const ids = [];
const outer = [];

function before(id) {
  ids.push(id);
  outer.push(published);
  publish(storage.getStore() ?? null);
}

function after(id) {
  const at = ids.lastIndexOf(id);
  publish(at < 0 ? null : outer[at]);
  if (at < 0) return;
  ids.length = at;
  outer.length = at;
}

const hook = createHook({ before, after });
let follows = false;

// With AsyncContextFrame (node 24), the hook is called before AsyncResource changes to its context,
// and finds the labels of its caller. This detects that.
function hookComesEarly() {
  const probe = new AsyncLocalStorage();
  const resource = probe.run(true, () => new AsyncResource('customlabels'));
  let seen;
  const probing = createHook({ before() { seen = probe.getStore(); } }).enable();
  resource.runInAsyncScope(() => undefined);
  probing.disable();
  probe.disable();
  return seen !== true;
}

// Then the function that runs in the context publishes once more. Its end is seen by the hook.
if (hookComesEarly()) {
  const { runInAsyncScope } = AsyncResource.prototype;
  AsyncResource.prototype.runInAsyncScope = function (callback, receiver, ...parameters) {
    return runInAsyncScope.call(this, function (...passed) {
      if (follows) publish(storage.getStore() ?? null);
      return Reflect.apply(callback, this, passed);
    }, receiver, ...parameters);
  };
}

// Is a set of the library with these labels. It does not change.
class LabelSet {
  constructor(pairs) {
    this.pairs = pairs;
    this.handle = native.create([...pairs].flat());
  }
}

function text(what, value) {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      throw new TypeError(`${what} is a string, number, bigint or boolean, not ` +
                          (value === null ? 'null' : typeof value));
  }
}

function pairsOf(labels) {
  if (labels === null || typeof labels !== 'object') {
    throw new TypeError('labels are an object, such as { tenant: "acme" }');
  }
  return Object.entries(labels).map(([key, value]) => {
    if (key === '') throw new TypeError('the key of a label is empty');
    return [key, text(`label ${JSON.stringify(key)}: a value`, value)];
  });
}

// Labels that are used many times. They come on top of those that are there.
class Labels {
  #pairs;
  #below;  // the set on top of which #built was made, and is used again
  #built;

  constructor(labels) {
    this.#pairs = pairsOf(labels);
  }

  run(callback, ...parameters) {
    const below = storage.getStore() ?? null;
    if (this.#built === undefined || this.#below !== below) {
      this.#built = new LabelSet(new Map([...(below === null ? [] : below.pairs), ...this.#pairs]));
      this.#below = below;
    }
    const set = this.#built;
    if (!follows) {
      follows = true;
      hook.enable();
    }
    const publishedBefore = published;
    return storage.run(set, () => {
      publish(set);
      try {
        return callback(...parameters);
      } finally {
        publish(publishedBefore);
      }
    });
  }
}

function runWithLabels(labels, callback, ...parameters) {
  return (labels instanceof Labels ? labels : new Labels(labels)).run(callback, ...parameters);
}

function currentLabels() {
  const set = storage.getStore();
  return set === undefined ? {} : Object.fromEntries(set.pairs);
}

exports.Labels = Labels;
exports.runWithLabels = runWithLabels;
exports.currentLabels = currentLabels;
Object.defineProperty(globalThis, shared, { value: exports });
