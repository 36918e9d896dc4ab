// Tests of the module for Node.js: what a thread publishes, as the ABI shows it, and errors.
'use strict';
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { AsyncResource, executionAsyncId } = require('node:async_hooks');
const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const test = require('node:test');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const { Labels, currentLabels, runWithLabels } = require('customlabels');
const witness = require('witness.node');

const addon = require.resolve('customlabels/customlabels.node');
function published() {
  const texts = witness.published(addon);
  if (texts === null) return null;
  const labels = {};
  for (let i = 0; i < texts.length; i += 2) labels[texts[i]] = texts[i + 1];
  return labels;
}
const nextTick = () => new Promise((resolve) => process.nextTick(resolve));
const immediate = () => new Promise((resolve) => setImmediate(resolve));

if (!isMainThread) {
  runWithLabels({ worker: 1 }, () => immediate().then(() => parentPort.postMessage(published())));
} else {
  main();
}

function main() {
  test.afterEach(() => assert.equal(published(), null));

  test('labels are there within a call and gone after it', () => {
    const result = runWithLabels({ tenant: 'acme', 'http.route': '/pay' }, (a, b) => {
      assert.deepEqual(published(), { tenant: 'acme', 'http.route': '/pay' });
      assert.deepEqual(currentLabels(), published());
      return a + b;
    }, 1, 2);
    assert.equal(result, 3);
    assert.equal(published(), null);
    assert.deepEqual(currentLabels(), {});
  });

  test('calls add and cover labels', () => {
    runWithLabels({ tenant: 'acme', route: '/' }, () => {
      runWithLabels({ tenant: 'globex', shard: 7, big: 10n ** 20n, hit: true }, () => {
        assert.deepEqual(published(), {
          tenant: 'globex', route: '/', shard: '7', big: '100000000000000000000', hit: 'true',
        });
      });
      assert.deepEqual(published(), { tenant: 'acme', route: '/' });
    });
  });

  test('an exception restores the labels', () => {
    runWithLabels({ tenant: 'acme' }, () => {
      assert.throws(() => runWithLabels({ tenant: 'globex' }, () => { throw new Error('x'); }), /x/);
      assert.deepEqual(published(), { tenant: 'acme' });
    });
  });

  test('labels follow each way in which node calls back', async () => {
    const ways = {
      promise: (then) => Promise.resolve().then(then),
      thenable: (then) => Promise.resolve({ then }),
      microtask: queueMicrotask,
      tick: process.nextTick,
      immediate: setImmediate,
      timer: (then) => setTimeout(then, 1),
      file: (then) => fs.stat('/', then),
      resource: (then) => setImmediate(AsyncResource.bind(then)),
      // The listener runs in the call that emits, so it has that call's labels.
      emitter: (then) => new EventEmitter().on('x', then).emit('x'),
    };
    for (const [way, start] of Object.entries(ways)) {
      const seen = await new Promise((resolve) => {
        runWithLabels({ way }, start, () => resolve(published()));
      });
      assert.deepEqual(seen, { way });
      await immediate();
      assert.equal(published(), null, `after ${way}`);
    }
  });

  test('an async function has its labels after each await, and others have none', async () => {
    let elsewhere = 0;
    let running = true;
    (async () => {
      while (running) {
        await immediate();
        assert.equal(published(), null);
        ++elsewhere;
      }
    })();
    await runWithLabels({ task: 1 }, async () => {
      for (let i = 0; i < 50; ++i) {
        await [nextTick, immediate, () => null][i % 3]();
        assert.deepEqual(published(), { task: '1' });
        runWithLabels({ inner: i }, () => assert.equal(published().inner, String(i)));
      }
    });
    running = false;
    assert.ok(elsewhere > 10);
  });

  test('a callback that JavaScript calls within another one gives the labels back', () => {
    const unlabelled = AsyncResource.bind(() => published());
    const other = runWithLabels({ task: 2 }, () => AsyncResource.bind(() => published()));
    runWithLabels({ task: 1 }, () => {
      assert.equal(unlabelled(), null);
      assert.deepEqual(other(), { task: '2' });
      assert.deepEqual(published(), { task: '1' });
    });
  });

  test('an exception that nobody catches leaves no labels behind', () => {
    const program = `
      const { runWithLabels } = require('customlabels');
      const { AsyncResource } = require('node:async_hooks');
      const witness = require('witness.node');
      const seen = [];
      process.on('uncaughtException', () => setTimeout(() => seen.push(witness.published(process.argv[1])), 1));
      for (let i = 0; i < 10; ++i) {
        const inner = runWithLabels({ inner: i }, () => AsyncResource.bind(() => { throw new Error('x'); }));
        runWithLabels({ i }, () => setTimeout(inner, 1));
      }
      setTimeout(() => { seen.push(witness.published(process.argv[1])); console.log(JSON.stringify(seen)); }, 50);`;
    const seen = JSON.parse(execFileSync(process.execPath, ['-e', program, addon]));
    // The handler itself runs in the context of what has thrown, and its timers, too.
    assert.equal(seen.length, 11);
    assert.equal(seen[10], null);
    for (const labels of seen.slice(0, 10)) assert.ok(labels === null || labels.length === 2);
  });

  test('labels that are made once are used again, on top of whatever is there', () => {
    const route = new Labels({ route: '/pay' });
    for (const tenant of ['acme', 'acme', 'globex']) {
      runWithLabels({ tenant }, () => route.run(() => {
        assert.deepEqual(published(), { tenant, route: '/pay' });
      }));
    }
    assert.deepEqual(runWithLabels(route, published), { route: '/pay' });
  });

  test('a long text is cut at the end of a character', () => {
    runWithLabels({ ['k'.repeat(127) + 'ä']: 'v' + '€'.repeat(100) }, () => {
      assert.deepEqual(published(), { ['k'.repeat(127)]: 'v' + '€'.repeat(85) });
    });
    runWithLabels({ zero: 'a\0b', half: '\ud800', empty: '', emoji: '😀'.repeat(65) }, () => {
      assert.deepEqual(published(),
        { zero: 'a\0b', half: '\ufffd', empty: '', emoji: '😀'.repeat(64) });
    });
  });

  test('any number of labels', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, String(i)]));
    runWithLabels(many, () => assert.deepEqual(published(), many));
    runWithLabels({}, () => assert.deepEqual(published(), {}));
  });

  test('what is no label is refused, and names it', () => {
    const refused = (labels, message) => assert.throws(() => runWithLabels(labels, () => 0), message);
    refused({ tenant: null }, /label "tenant": a value is a string, .*, not null/);
    refused({ tenant: {} }, /not object/);
    refused({ '': 1 }, /the key of a label is empty/);
    refused(null, /labels are an object/);
    refused('tenant', /labels are an object/);
    const { create, publish } = require('customlabels/native');
    assert.throws(() => create(['key']), /keys and values/);
    assert.throws(() => create([1, 2]), /no string/);
    assert.throws(() => create('no'), /keys and values/);
    assert.throws(() => publish('no'), /a set or null/);
  });

  test('a worker has labels of its own', async () => {
    await runWithLabels({ main: 1 }, async () => {
      const worker = new Worker(__filename);
      const seen = await new Promise((resolve, reject) => {
        worker.on('message', resolve).on('error', reject);
      });
      assert.deepEqual(seen, { worker: '1' });
      assert.deepEqual(published(), { main: '1' });
      await worker.terminate();
    });
  });

  const runAlone = (script) => execFileSync(process.execPath, ['-e', script]).toString();

  test('the addon may be loaded twice', () => {
    assert.equal(runAlone(`
      const { runWithLabels } = require('customlabels');
      const again = { exports: {} };
      process.dlopen(again, ${JSON.stringify(addon)});
      console.log(typeof again.exports.publish);`), 'function\n');
  });

  test('a second copy of the module has the labels of the first', () => {
    const seen = JSON.parse(runAlone(`
      const first = require('customlabels');
      delete require.cache[require.resolve('customlabels')];
      delete require.cache[require.resolve('customlabels/native.js')];
      const second = require('customlabels');
      const witness = require('witness.node');
      const seen = [];
      const look = () => seen.push(witness.published(${JSON.stringify(addon)}));
      first.runWithLabels({ a: 1 }, () => {
        second.runWithLabels({ b: 2 }, look);
        look();
      });
      look();
      console.log(JSON.stringify(seen));`));
    assert.deepEqual(seen, [['a', '1', 'b', '2'], ['a', '1'], null]);
  });

  test('sets that nobody needs are freed', async () => {
    const make = (count) => {
      for (let i = 0; i < count; ++i) runWithLabels({ i, text: 'x'.repeat(200) }, () => 0);
    };
    const size = async () => {
      for (let i = 0; i < 3; ++i) {
        globalThis.gc();
        await immediate();
      }
      return process.memoryUsage().rss;
    };
    make(20000);
    const before = await size();
    for (let i = 0; i < 10; ++i) {
      make(20000);
      await size();
    }
    const grown = (await size()) - before;
    // 200,000 sets that stay would be more than 60 MB.
    assert.ok(grown < 30e6, `${grown} bytes more`);
  });

  test('without the addon a program is told, or runs without labels', () => {
    const folder = fs.mkdtempSync('/tmp/customlabels-');
    for (const file of ['index.js', 'native.js', 'package.json']) {
      fs.copyFileSync(require.resolve(`customlabels/${file}`), `${folder}/${file}`);
    }
    const run = (library) => execFileSync(process.execPath, ['-e', `
      try {
        const { runWithLabels, currentLabels } = require('${folder}');
        console.log(runWithLabels({ a: 1 }, () => JSON.stringify(currentLabels())));
      } catch (error) { console.log(error.code, error.message); }`],
      { env: { ...process.env, CUSTOMLABELS_LIBRARY: library } }).toString();
    assert.match(run(''), /^CUSTOMLABELS_NOT_LOADED labels cannot be published: .*package node-customlabels/s);
    assert.equal(run('none'), '{"a":"1"}\n');
    fs.rmSync(folder, { recursive: true });
  });
}
