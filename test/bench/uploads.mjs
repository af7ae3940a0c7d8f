/**
 * What a large file costs a service where three queries use it: sent once before them, and as base64 with each of them.
 *
 *     npm run build && node test/bench/uploads.mjs [--megabytes 1000] [--store memory|file|postgres]
 *
 * The service is a process of its own, and its agent reads the file as a stream. Each line is one request. "Memory" is the most
 * that the process had resident during the request. "Sent" counts the bytes of the connection, "written" those that the process
 * gave to the file system. "On disk" is the most by which data and temporary files had grown together during the request, looked
 * at ten times a second; "kept" is what was left of it. With Postgres, both include the server. Linux only.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parseArgs, promisify } from 'node:util';
import { DATABASES } from './databases.mjs';

const { values } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '1000' },
    store: { type: 'string', default: 'file' },
  },
});

/** No database can compress it. Divisible by three, so that pieces of base64 can be joined. */
const PIECE = randomBytes(240_000);
const PIECES = Math.ceil((Number(values.megabytes) * 1e6) / PIECE.length);
const BYTES = String(2 * PIECES * PIECE.length);

const AGENT = `import { createHash } from 'node:crypto';
export default async function* ({ parts: [{ file }] }) {
  const hash = createHash('sha256');
  for await (const bytes of file.stream()) hash.update(bytes);
  yield { type: 'message', data: { content: hash.digest('hex') } };
}`;

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');
const directory = await mkdtemp(join(tmpdir(), 'uploads-'));
// Whatever is stored is in this directory, also by Postgres, which may have a user of its own.
await chmod(directory, 0o755);
process.env.TMPDIR = directory;
const database = await DATABASES[values.store]();
const agent = join(directory, 'agent.mjs');
await writeFile(agent, AGENT);
const service = spawn(process.execPath, [MAIN], {
  env: {
    ...process.env,
    AGENT: agent,
    PORT: '0',
    DATABASE_URL: database.url,
    LOG_FORMAT: 'text',
    MAX_FILE_BYTES: BYTES,
    MAX_FILES_BYTES: BYTES,
    MAX_UNUSED_BYTES_PER_OWNER: BYTES,
    RETENTION_FILES_BYTES: BYTES,
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let output = '';
service.stdout.on('data', (chunk) => (output += chunk));
while (!/listens on (\S+)/.test(output)) await once(service.stdout, 'data');
const [, url] = /listens on (\S+)/.exec(output);

const run = promisify(execFile);
const onDisk = async () => {
  // It fails if a file goes while it looks.
  const { stdout } = await run('du', ['-sB1', directory]).catch((error) => error);
  return Number.parseInt(stdout, 10);
};
const statusOf = async (file, pattern) =>
  Number(pattern.exec(await readFile(`/proc/${service.pid}/${file}`, 'utf8'))[1]);
const written = () => statusOf('io', /^write_bytes: (\d+)/m);

async function send(path, headers, body) {
  const sent = request(url + path, { method: 'POST', headers, agent: false });
  Readable.from(body).pipe(sent);
  const [answer] = await once(sent, 'response');
  const { socket } = sent;
  const reply = await text(answer);
  if (answer.statusCode >= 300) throw new Error(reply);
  return { reply, sent: socket.bytesWritten };
}

const unused = await onDisk();

async function measure(name, ...asked) {
  // proc(5): from now on, the most is that of this request.
  await writeFile(`/proc/${service.pid}/clear_refs`, '5');
  const before = await written();
  let most = 0;
  const look = async () => (most = Math.max(most, await onDisk()));
  let looking;
  const timer = setInterval(() => (looking ??= look().finally(() => (looking = undefined))), 100);
  const began = performance.now();
  const { reply, sent } = await send(...asked);
  const seconds = (performance.now() - began) / 1000;
  clearInterval(timer);
  await looking;
  const memory = await statusOf('status', /^VmHWM:\s+(\d+) kB/m);
  const kept = (await onDisk()) - unused;
  const inMb = [sent, (await written()) - before, Math.max(most - unused, kept), kept].map(
    (bytes) => bytes / 1e6,
  );
  console.log(
    [
      name.padEnd(22),
      (memory / 1024).toFixed(0),
      ...inMb.map((mb) => mb.toFixed(0)),
      seconds.toFixed(1),
    ].join('\t'),
  );
  return reply;
}

function* bytes() {
  for (let i = 0; i < PIECES; i++) yield PIECE;
}
function* withBase64() {
  yield '{"parts":[{"type":"file","name":"a","mimeType":"application/octet-stream","base64":"';
  for (let i = 0; i < PIECES; i++) yield PIECE.toString('base64');
  yield '"}]}';
}
const digest = createHash('sha256');
for (const piece of bytes()) digest.update(piece);
const sha256 = digest.digest('hex');
const part = { type: 'file', name: 'a', mimeType: 'application/octet-stream', sha256 };
const JSON_BODY = { 'content-type': 'application/json' };

async function query(name, body) {
  if (!(await measure(name, '/query', JSON_BODY, body)).includes(sha256))
    throw new Error('Another file arrived.');
}

console.log(`${values.store}, ${((PIECES * PIECE.length) / 1e6).toFixed(0)} MB`);
console.log(['request'.padEnd(22), 'memory', 'sent', 'written', 'on disk', 'kept', 'seconds'].join('\t'));
console.log([''.padEnd(22), 'MiB', ...Array(4).fill('MB')].join('\t'));
try {
  await measure('upload', '/query/files', { 'content-type': 'application/octet-stream' }, bytes());
  for (let i = 1; i <= 3; i++) await query(`query ${i} by sha256`, [JSON.stringify({ parts: [part] })]);
  for (let i = 1; i <= 3; i++) await query(`query ${i} with base64`, withBase64());
} finally {
  service.kill('SIGTERM');
  await once(service, 'exit');
  await database.close();
  await rm(directory, { recursive: true, force: true });
}
