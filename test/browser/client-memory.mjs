/**
 * How much memory the typed client takes while it sends a file of 1 GB: in Node from a path, and in Chromium from a `File`.
 *
 *     npm run browser && node test/browser/client-memory.mjs [--bytes 1000000000]
 *
 * Prints by how much the memory of the client has grown at its peak: in Node the resident memory of the process, in Chromium
 * the memory of the page (objects and bytes of JavaScript). The browser holds the body as a Blob outside of the page: in its own
 * memory up to a limit that it derives from that of the machine, and beyond it on disk. A browser sends no stream over HTTP/1.1.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AgentQueryClient } from '../../packages/client/dist/index.js';
import { startBrowser } from './start-browser.mjs';

const { values } = parseArgs({ options: { bytes: { type: 'string', default: '1000000000' } } });
const BYTES = Number(values.bytes);
const ROOT = resolve(import.meta.dirname, '../..');
const MB = 1_000_000;

/** Does something, and prints how much the memory has grown meanwhile. */
async function measured(name, memory, work) {
  const before = await memory();
  let peak = before;
  const timer = setInterval(() => void memory().then((now) => (peak = Math.max(peak, now))), 100);
  const started = performance.now();
  const text = await work();
  clearInterval(timer);
  const seconds = (performance.now() - started) / 1000;
  const grown = Math.round((peak - before) / MB);
  console.log(
    `${name}: ${grown} MB more than the ${Math.round(before / MB)} MB before, ${seconds.toFixed(1)} s`,
  );
  if (!text.includes(BYTES.toLocaleString('en')))
    throw new Error(`The agent has received something else: ${text}`);
}

async function startService(folder) {
  const child = spawn(process.execPath, [join(ROOT, 'dist/main.js')], {
    cwd: folder,
    env: {
      ...process.env,
      ...{ PORT: '0', DATABASE_URL: 'memory:', LOG_FORMAT: 'text', ACCESS: 'open', CORS_ORIGIN: '*' },
      ...{
        MAX_FILE_BYTES: String(2 * BYTES),
        MAX_FILES_BYTES: String(2 * BYTES),
        MAX_SPOOL_BYTES: String(9 * BYTES),
      },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of child.stdout) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec((output += chunk)) ?? [];
    if (url) {
      child.stdout.resume();
      return { url, child };
    }
  }
  throw new Error(`The service did not start: ${output}`);
}

async function inNode(baseUrl, folder) {
  const path = join(folder, 'large.bin');
  const file = createWriteStream(path);
  for (let left = BYTES; left > 0; left -= MB)
    if (!file.write(Buffer.alloc(Math.min(MB, left), 7))) await once(file, 'drain');
  await new Promise((settle) => file.end(settle));
  const client = new AgentQueryClient({ baseUrl });
  await measured(
    'Node, from a path',
    () => Promise.resolve(process.memoryUsage.rss()),
    () => client.ask('', { files: [path] }).text(),
  );
  await rm(path);
}

const PAGE = `<!doctype html><link rel="icon" href="data:," /><script type="importmap">
{ "imports": { "eventsource-parser": "/node_modules/eventsource-parser/dist/index.js" } }
</script><script type="module">
import { AgentQueryClient } from '/packages/client/dist/index.js';
globalThis.AgentQueryClient = AgentQueryClient;
</script>`;

async function inChromium(baseUrl) {
  const pages = createServer(({ url }, response) => {
    if (url === '/') return response.setHeader('content-type', 'text/html').end(PAGE);
    response.setHeader('content-type', 'text/javascript').end(readFileSync(join(ROOT, url)));
  }).listen(0, '127.0.0.1');
  await once(pages, 'listening');
  const browser = await startBrowser();
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${pages.address().port}/`);
  await page.waitForFunction(() => 'AgentQueryClient' in globalThis);
  const session = await page.context().newCDPSession(page);
  const memory = async () => {
    const { usedSize, embedderHeapUsedSize, backingStorageSize } = await session.send('Runtime.getHeapUsage');
    return usedSize + embedderHeapUsedSize + backingStorageSize;
  };
  const ask = ({ url, bytes, isTold }) => {
    const piece = new Blob([new Uint8Array(1_000_000).fill(7)]);
    const file = new File(
      Array.from({ length: bytes / 1_000_000 }, () => piece),
      'large.bin',
    );
    const onUpload = isTold ? () => undefined : undefined;
    return new globalThis.AgentQueryClient({ baseUrl: url }).ask('', { files: [file], onUpload }).text();
  };
  for (const isTold of [false, true])
    await measured(`Chromium, ${isTold ? 'with' : 'without'} progress`, memory, () =>
      page.evaluate(ask, { url: baseUrl, bytes: BYTES, isTold }),
    );
  await browser.close();
  pages.closeAllConnections();
  pages.close();
}

const folder = await mkdtemp(join(tmpdir(), 'client-memory-'));
const { url, child } = await startService(folder);
try {
  await inNode(url, folder);
  await inChromium(url);
} finally {
  child.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
}
