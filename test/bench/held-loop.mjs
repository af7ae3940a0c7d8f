/**
 * How long one request holds the event loop of the service, so that no other request is served. The requests are the worst
 * that are known within the default limits.
 *
 *     npm run build && node test/bench/held-loop.mjs [--only kwargs] [--rounds 5] [--limit 50]
 *
 * Each request is sent several times; the shortest of the longest holds counts, because other work of the machine makes a
 * hold longer, never shorter. The exit code is 1 if a request holds the loop for more milliseconds than the limit.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { DATABASES } from './databases.mjs';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    stores: { type: 'string', default: 'memory,file,postgres' },
    rounds: { type: 'string', default: '5' },
    limit: { type: 'string', default: '50' },
  },
});
const ROUNDS = Number(values.rounds);
const LIMIT = Number(values.limit);

const MIB = 1024 * 1024;
/** What a document may have besides its file contents, by default. */
const DOCUMENT = 16 * MIB - 1024;
/** How many JSON values it may have. */
const VALUES = 50_000 - 100;

const kwargs = (json) => `{"parts":[{"type":"text","text":"a"}],"kwargs":${json}}`;
const textParts = (texts) => `{"parts":[${texts.map((text) => `{"type":"text","text":"${text}"}`).join()}]}`;
const filled = (piece, length = DOCUMENT) => piece.repeat(Math.floor(length / piece.length));
const members = (count, member) => `{${Array.from({ length: count }, (_, i) => member(i)).join()}}`;
const file = (i, base64) => ({
  type: 'file',
  name: `${i}.bin`,
  mimeType: 'application/octet-stream',
  base64,
});

/** The worst documents, by name. */
const DOCUMENTS = {
  'kwargs: empty objects': kwargs(`{"a":[${filled('{},', VALUES * 3)}{}]}`),
  'kwargs: empty objects, padded to the limit': kwargs(`{"a":[${`{}${' '.repeat(158)},`.repeat(VALUES)}{}]}`),
  'kwargs: empty arrays as members': kwargs(members(VALUES, (i) => `"${i.toString(36)}":[]`)),
  'kwargs: long names': kwargs(members(30_000, (i) => `"${i}${'n'.repeat(500)}":0`)),
  'kwargs: names that are numbers, backwards': kwargs(members(VALUES, (i) => `"${4e9 - i * 7919}":0`)),
  'kwargs: one name many times': kwargs(members(VALUES, () => '"a":0')),
  'kwargs: long numbers': kwargs(
    `[${filled(`0.${'123456789'.repeat(17)}e-9,`)}0]`.replace(/^(.*)$/, '{"a":$1}'),
  ),
  'kwargs: one number of the whole document': kwargs(`{"a":${filled('7')}}`),
  'kwargs: one string of escapes': kwargs(`{"a":"${filled('\\u00e9')}"}`),
  'kwargs: one long name': kwargs(`{"${filled('n')}":0}`),
  'kwargs: strings of 150 bytes': kwargs(`{"a":[${filled(`"${'s'.repeat(150)}",`)}""]}`),
  'kwargs: deep arrays': kwargs(
    `{"a":[${filled(`${'['.repeat(60)}${']'.repeat(60)},`, VALUES * 2 - 200)}0]}`,
  ),
  'parts: two texts': textParts([filled('t', 8 * MIB - 1024), filled('t', 8 * MIB - 1024)]),
  'parts: two texts of three-byte characters': textParts([
    filled('漢', (8 * MIB) / 3),
    filled('字', (8 * MIB) / 3 - 1024),
  ]),
  'parts: two texts of escapes': textParts([filled('\\n', 8 * MIB - 1024), filled('\\n', 8 * MIB - 1024)]),
  'parts: 1,000 texts': textParts(Array.from({ length: 1000 }, () => 't'.repeat(16_000))),
  'parts: 1,000 faults': JSON.stringify({
    parts: Array.from({ length: 1000 }, (_, i) => ({
      type: 'file',
      name: `/${i}`,
      mimeType: '?',
      base64: '*',
    })),
  }),
  'parts: 1,000 files of 10 bytes': JSON.stringify({
    parts: Array.from({ length: 1000 }, (_, i) => file(i, 'AAAAAAAAAAAAAA==')),
  }),
  'parts: 1,000 files with long types': JSON.stringify({
    parts: Array.from({ length: 1000 }, (_, i) => ({
      ...file(i, 'AA=='),
      mimeType: `text/plain${`;a=${'b'.repeat(100)}`.repeat(150)}`,
    })),
  }),
  'parts: members that nobody knows': `{"parts":[${`{"type":"text","text":"a",${Array.from({ length: 90 }, (_, i) => `"m${i}":"${'x'.repeat(70)}"`).join()}},`.repeat(999)}{"type":"text","text":"a"}]}`,
  'parts: one file of 64 MiB': JSON.stringify({
    parts: [file(0, Buffer.alloc(64 * MIB, 1).toString('base64'))],
  }),
  'white space': ' '.repeat(DOCUMENT) + kwargs('{}'),
};

const ROUTES = {
  plain: () => ({}),
  'with a key': (i) => ({ 'idempotency-key': `key-${i}` }),
};

async function startServer(database) {
  const child = fork(`${import.meta.dirname}/held-loop-server.mjs`, database === undefined ? [] : [database]);
  const [{ url }] = await once(child, 'message');
  const ask = async (question) => {
    const answered = once(child, 'message');
    child.send(question);
    return (await answered)[0];
  };
  return { url, ask, stop: async () => (child.kill('SIGTERM'), once(child, 'exit')) };
}

let requests = 0;
let tooLong = 0;

/** The longest hold of a request in milliseconds: the shortest of several rounds. */
async function longestHold(server, send) {
  const holds = [];
  for (let round = 0; round < ROUNDS; round++) {
    await server.ask('begin');
    const response = await send(++requests);
    await response.arrayBuffer();
    holds.push((await server.ask('end')).longest);
    if (Math.min(...holds) < LIMIT / 2) break;
  }
  return Math.min(...holds);
}

function record(row, column, hold) {
  row[column] = Math.round(hold);
  if (hold > LIMIT) tooLong++;
}

const chosen = Object.entries(DOCUMENTS).filter(([name]) => name.includes(values.only));
const rows = Object.fromEntries(chosen.map(([name]) => [name, {}]));
for (const store of values.stores.split(',')) {
  const { url: database, close } = await DATABASES[store]();
  const server = await startServer(database);
  for (const [name, document] of chosen) {
    for (const [route, headersOf] of Object.entries(ROUTES)) {
      const post = (extra, body) => (i) =>
        fetch(`${server.url}/query`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headersOf(i), ...extra },
          body,
        });
      record(rows[name], `${store}, ${route}`, await longestHold(server, post({}, document)));
    }
    const inSession = document.replace(/("kwargs":\{)|(\]\})$/, (found) =>
      found === ']}' ? '],"kwargs":{"session_id":"s"}}' : `${found}"session_id":"s",`,
    );
    const send = () =>
      fetch(`${server.url}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: inSession.replaceAll(',}', '}'),
      });
    record(rows[name], `${store}, session`, await longestHold(server, send));
    record(
      rows[name],
      `${store}, page`,
      await longestHold(server, () => fetch(`${server.url}/query/sessions/s`)),
    );
    await fetch(`${server.url}/query/sessions/s`, { method: 'DELETE' });
  }
  await server.stop();
  await close();
}
console.log('milliseconds that a request holds the event loop');
console.table(rows);
console.log(
  tooLong === 0
    ? `no request holds the loop for more than ${LIMIT} ms`
    : `${tooLong} requests hold the loop for more than ${LIMIT} ms`,
);
process.exitCode = tooLong === 0 ? 0 : 1;
