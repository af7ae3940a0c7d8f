/**
 * What files that harm their parser cost the service and its other callers: the longest delay of another caller and the peak of
 * resident memory under 20 of them at once, and how long ordinary files take. It starts the service of a directory `dist`.
 *
 * npm run build && node test/bench/hostile-files.mjs [directory] [measure …]
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import {
  attributesDocx,
  commentsText,
  crowdedZip,
  greedyPdf,
  longDocx,
  longStringPdf,
  pdfOf,
  xlsxOf,
} from '../support/hostile-files.mjs';

const [directory = resolve(import.meta.dirname, '../../dist'), ...chosen] = process.argv.slice(2);
const CSV = Buffer.from('city,population\nLyon,522250\nKöln,1073096\n');
const KILOBYTE = Buffer.concat(Array.from({ length: 25 }, () => CSV));

const FIXTURES = resolve(import.meta.dirname, '../fixtures/files');
/** One file of each kind. */
const KINDS = [
  ...['latin.txt', 'cities.csv', 'engine.json', 'events.ndjson', 'settings.yaml', 'report.html', 'mail.eml'],
  ...['report.rtf', 'report.pdf', 'report.docx', 'orders.xlsx', 'orders.ods', 'slides.pptx', 'report.epub'],
  ...[
    'analysis.ipynb',
    'archive.zip',
    'archive.tar.gz',
    'picture.png',
    'photo.jpg',
    'tone.mp3',
    'archive.7z',
  ],
];

const { fetch } = globalThis;

/** The service as a process of its own, and the peak of the resident memory of it and of its pool, in MB. */
class Service {
  #peaks = { service: 0, pool: 0 };
  #timer = setInterval(() => this.#look(), 20);

  static async start() {
    const service = new Service();
    service.child = spawn(process.execPath, [join(directory, 'main.js')], {
      env: { PATH: process.env.PATH, PORT: '0', DATABASE_URL: 'memory:', MAX_DOCUMENT_BYTES: '67108864' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    service.exited = new Promise((resolve) =>
      service.child.once('exit', (code, signal) => resolve(signal ?? code)),
    );
    let output = '';
    service.url = await new Promise((resolve) => {
      service.child.stdout.on('data', (chunk) => {
        output += chunk;
        const url = /http:\/\/\S+(?=\/query\n)/.exec(output);
        if (url) resolve(url[0]);
      });
    });
    return service;
  }

  async stop() {
    clearInterval(this.#timer);
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** The peaks since the last call. */
  peaks() {
    const { service, pool } = this.#peaks;
    this.#peaks = { service: 0, pool: 0 };
    return `peak of resident memory: service ${service} MB, its pool ${pool} MB`;
  }

  now() {
    this.#peaks = { service: 0, pool: 0 };
    this.#look();
    return this.#peaks;
  }

  #look() {
    const pid = this.child?.pid;
    if (pid === undefined) return;
    const pool = childrenOf(pid).reduce((sum, child) => sum + residentOf(child), 0);
    this.#peaks.service = Math.max(this.#peaks.service, residentOf(pid));
    this.#peaks.pool = Math.max(this.#peaks.pool, pool);
  }

  /** Sends files; the times are milliseconds since then. */
  async ask(files, onStart = () => undefined) {
    const began = performance.now();
    const parts = files.map(([name, content]) => ({
      type: 'file',
      name,
      mimeType: 'application/octet-stream',
      base64: content.toString('base64'),
    }));
    const answer = { first: undefined, end: undefined, text: '' };
    const response = await fetch(`${this.url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ parts }),
    });
    onStart(new URL(response.headers.get('content-location'), this.url));
    for await (const chunk of response.body) {
      answer.text += Buffer.from(chunk).toString();
      if (answer.first === undefined && answer.text.includes('"type":"message"'))
        answer.first = performance.now() - began;
    }
    answer.end = performance.now() - began;
    return answer;
  }
}

function childrenOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/** Resident memory in MB; 0 if the process is gone. */
function residentOf(pid) {
  try {
    return Math.round((Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4096) / 1e6);
  } catch {
    return 0;
  }
}

const seconds = (milliseconds) =>
  milliseconds === undefined ? 'never' : `${(milliseconds / 1000).toFixed(3)} s`;

/** Asks with a small file again and again until `until` settles; resolves with the longest time to its answer. */
async function longestDelay(service, until) {
  let isOver = false;
  until.finally(() => (isOver = true));
  let longest = 0;
  while (!isOver) {
    longest = Math.max(longest, (await service.ask([['other.csv', CSV]])).end);
    await wait(100);
  }
  return longest;
}

async function hostile(service, files) {
  const all = Promise.allSettled(files.map((file) => service.ask([file])));
  const survived = longestDelay(service, all).catch(() => undefined);
  const delay = await Promise.race([survived, service.exited.then(() => undefined)]);
  // A caller notices the end of the service before its exit is reported.
  if (delay === undefined) await service.exited;
  if (service.child.exitCode !== null || service.child.signalCode !== null) {
    return `the service ended with ${service.child.signalCode ?? service.child.exitCode}; ${service.peaks()}`;
  }
  await all;
  const peaks = service.peaks();
  await wait(12_000);
  const { service: idle, pool } = service.now();
  return `longest delay of another caller ${seconds(delay)}; ${peaks}; 12 s later: service ${idle} MB, pool ${pool} MB`;
}

const twenty = (...files) => Array.from({ length: 20 }, (_, index) => files[index % files.length]);

const MEASURES = {
  'pdf with a string of 20 MB': (service) => hostile(service, [['a.pdf', longStringPdf()]]),
  'docx with 2.8 million attributes': (service) => hostile(service, [['a.docx', attributesDocx()]]),
  'pdf of 123 kB': (service) => hostile(service, [['a.pdf', greedyPdf(63_000_000)]]),
  '4 texts of comments': (service) => hostile(service, twenty(['a.txt', commentsText()]).slice(0, 4)),
  '20 hostile files': (service) =>
    hostile(
      service,
      twenty(
        ['a.pdf', greedyPdf()],
        ['a.txt', commentsText()],
        ['b.pdf', pdfOf(Buffer.alloc(120_000_000, ' '), 1)],
        ['a.docx', longDocx()],
        ...(chosen.includes('survivable') ? [] : [['c.pdf', longStringPdf()]]),
      ),
    ),
  '1,000 small files': async (service) => {
    await service.ask([['a.csv', CSV]]);
    const { end, first } = await service.ask(
      Array.from({ length: 1000 }, (_, index) => [`${index}.csv`, CSV]),
    );
    return `first ${seconds(first)}, all ${seconds(end)}; ${service.peaks()}`;
  },
  'a file of 1 kB, warm': async (service) => {
    const times = [];
    for (let index = 0; index < 50; index++) times.push((await service.ask([['a.csv', KILOBYTE]])).end);
    const sorted = times.slice(10).sort((a, b) => a - b);
    return `median ${seconds(sorted[20])}, best ${seconds(sorted[0])}`;
  },
  'csv of 1,000,000 rows': async (service) => {
    const rows = Array.from(
      { length: 1_000_000 },
      (_, index) =>
        `${index},city ${index % 500},${(index * 7919) % 100_003}.25,2024-01-${10 + (index % 20)},item with number ${index}\n`,
    );
    const file = Buffer.from(`id,city,amount,day,name\n${rows.join('')}`);
    const { first, end } = await service.ask([['a.csv', file]]);
    const size = `${(file.length / 1e6).toFixed(0)} MB`;
    return `${size}, first fact ${seconds(first)}, end ${seconds(end)}; ${service.peaks()}`;
  },
  'kinds of files': async (service) => {
    const times = [];
    for (const name of KINDS) {
      const file = readFileSync(join(FIXTURES, name));
      await service.ask([[name, file]]);
      const ends = [];
      for (let index = 0; index < 5; index++) ends.push((await service.ask([[name, file]])).end);
      times.push(`${name} ${ends.sort((a, b) => a - b)[2].toFixed(0)} ms`);
    }
    return times.join(', ');
  },
  'zip of 20,000 entries': async (service) =>
    seconds((await service.ask([['a.zip', crowdedZip(20_000)]])).end),
  'full xlsx (1,048,576 × 10)': async (service) => {
    const file = await xlsxOf(1_048_576);
    const { first, end, text } = await service.ask([['a.xlsx', file]]);
    const said = /(?:Sheet `Data` has|Reading stopped|Describing this file).*?\.(?: |\\n|$)/.exec(text)?.[0];
    return `first fact ${seconds(first)}, end ${seconds(end)}: ${said}`;
  },
  'cancel of a long docx': async (service) => {
    let asked;
    const run = await new Promise((resolve) => (asked = service.ask([['a.docx', longDocx()]], resolve)));
    await wait(3000);
    const began = performance.now();
    const { status } = await fetch(run, { method: 'DELETE' });
    const answered = performance.now() - began;
    await asked;
    while (residentOf(childrenOf(service.child.pid)[0] ?? 0) > 0) await wait(5);
    return `status ${status} after ${seconds(answered)}, all is over after ${seconds(performance.now() - began)}`;
  },
};

for (const [name, measure] of Object.entries(MEASURES)) {
  if (chosen.length > 0 && !chosen.some((part) => name.includes(part))) continue;
  const service = await Service.start();
  const result = await measure(service).catch((error) => `failed: ${error.cause ?? error}`);
  console.log(`${name}: ${result} (load ${loadavg()[0].toFixed(1)})`);
  await service.stop();
}
