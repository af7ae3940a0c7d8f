/**
 * Does what docs/tutorial.md says: it writes the files, executes the commands one after another, and compares their outputs
 * with those that the document prints.
 *
 * A block of code with a name in its first line is a file. A block `sh` is a command, and a block `text` after it its output. A
 * block `log` is what the running application prints. A link in angle brackets is a page that a reader opens.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

const DOCUMENT = resolve(import.meta.dirname, '../../docs/tutorial.md');
/** The address that the document has. */
const ADDRESS = '127.0.0.1:3000';
/** The longest time that a command takes, or the application until it prints what it should, in milliseconds. */
const WAIT_MS = 60_000;

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
/** What differs each time, besides ids. `…` alone in a line stands for any lines. */
const VARYING = [/\d{4}-\d\d-\d\dT[\d:.]+Z/, /(?<="events":)\d+/, /(?<=\()[\d.]+(?=ms\))/];
const PIECE = new RegExp([/^…$/, UUID, ...VARYING].map(({ source }) => source).join('|'), 'gm');

/**
 * @param options `folder`: an empty one; `install(names)`: installs these packages there; `port`: one that is free; `env`: the
 *   variables of all commands; `document`: its text, default docs/tutorial.md
 * @returns what was done, a line for each step
 * @throws Error with the expected and the actual output, where they differ
 */
export async function followTutorial(options) {
  const { document = await readFile(DOCUMENT, 'utf8') } = options;
  const reader = new Reader(options);
  try {
    for (const step of stepsOf(document)) await reader.do(step);
    await reader.end();
  } finally {
    reader.kill();
  }
  return reader.done;
}

/** The steps of a document, in its order. */
function stepsOf(document) {
  const found = document.matchAll(/^```(\w+)\n([^]*?)^```$|<(http:[^>\s]+)>/gm);
  const steps = [];
  for (const [, language, code, link] of found) {
    const [, name] = /^\/\/ (\S+)\n/.exec(code ?? '') ?? [];
    if (link) steps.push({ kind: 'open', link });
    else if (name) steps.push({ kind: 'file', name, code });
    else if (language === 'text') Object.assign(steps.at(-1), { output: code });
    else steps.push({ kind: language, code });
  }
  return steps;
}

/** A person who does what the document says. */
class Reader {
  done = [];
  #options;
  #application;
  #printed = '';
  /** The ids that the document shows, with those that were seen in their place. */
  #ids = new Map();

  constructor(options) {
    this.#options = options;
  }

  async do({ kind, name, code, output, link }) {
    if (kind === 'file') await this.#write(name, code);
    else if (kind === 'open') await this.#open(this.#actual(link));
    else if (kind === 'log') await this.#prints(code);
    else if (kind !== 'sh')
      throw new Error(`docs/tutorial.md has a block "${kind}": nobody knows what to do.`);
    else if (code === 'npm start\n') await this.#start(output);
    else await this.#execute(code, output);
  }

  /** Ends the application with Ctrl-C. */
  async end() {
    assert.ok(this.#application, 'docs/tutorial.md starts no application.');
    const exited = once(this.#application, 'close');
    process.kill(-this.#application.pid, 'SIGINT');
    await exited;
    this.done.push('Ctrl-C');
  }

  kill() {
    const { exitCode, signalCode, pid } = this.#application ?? { exitCode: 0 };
    if (exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  }

  async #write(name, code) {
    const folder = join(this.#options.folder, name.endsWith('.ts') ? 'src' : '');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, name), code);
    this.done.push(name);
  }

  async #open(link) {
    const page = await fetch(link);
    assert.equal(page.status, 200, link);
    assert.match(page.headers.get('content-type'), /^text\/html/, link);
    this.done.push(`open ${link}`);
  }

  /** The packages are installed together, as the caller says. */
  async #execute(code, output) {
    const lines = code.split('\n');
    const isInstall = (line) => line.startsWith('npm install ');
    const packages = lines.filter(isInstall).flatMap((line) => line.split(' ').slice(2));
    const command = this.#actual(lines.filter((line) => !isInstall(line)).join('\n'));
    const { stdout, stderr } = await new Promise((ended) =>
      execFile('sh', ['-ec', command], { ...this.#settings, timeout: WAIT_MS }, (error, stdout, stderr) =>
        ended({ stdout, stderr: error ? `${error.message}\n${stderr}` : '' }),
      ),
    );
    assert.equal(stderr, '', stdout);
    if (output !== undefined) this.#compare(command, stdout, output);
    if (packages.length > 0) await this.#options.install(packages.filter((each) => !each.startsWith('-')));
    this.done.push(lines[0]);
  }

  async #start(output) {
    const stdio = ['ignore', 'pipe', 'pipe'];
    this.#application = spawn('npm', ['start'], { ...this.#settings, stdio, detached: true });
    for (const stream of [this.#application.stdout, this.#application.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.#printed += text));
    await this.#prints(output);
    this.done.push('npm start');
  }

  /** Waits until the application has printed this after what it has printed before. */
  async #prints(expected) {
    const until = performance.now() + WAIT_MS;
    const matches = () => this.#pattern(expected).exec(this.#printed);
    while (!matches() && this.#application.exitCode === null && performance.now() < until) await delay(20);
    this.#compare('npm start', this.#printed, expected);
    this.#printed = '';
  }

  get #settings() {
    const { folder, port, env } = this.#options;
    return { cwd: folder, env: { ...env, PORT: `${port}` } };
  }

  /** A text of the document, with the ids and the address of this time. */
  #actual(text) {
    const address = text.replaceAll(ADDRESS, `127.0.0.1:${this.#options.port}`);
    return address.replace(new RegExp(UUID, 'g'), (id) => this.#ids.get(id) ?? id);
  }

  #pattern(expected) {
    const groups = new Set();
    const text = this.#actual(expected.trimEnd());
    const known = new Set(this.#ids.values());
    let pattern = '';
    let end = 0;
    for (const { 0: piece, index } of text.matchAll(PIECE)) {
      pattern += escaped(text.slice(end, index));
      pattern += known.has(piece) ? piece : this.#varying(piece, groups);
      end = index + piece.length;
    }
    return new RegExp(`^${pattern}${escaped(text.slice(end))}\\s*$`);
  }

  /** The pattern of a piece that differs each time. An id that occurs again is the same. */
  #varying(piece, groups) {
    if (piece === '…') return '[^]*?';
    if (!UUID.test(piece)) return '[\\w:.-]+';
    const group = `id${piece.replaceAll('-', '')}`;
    const isNew = !groups.has(group);
    groups.add(group);
    return isNew ? `(?<${group}>${UUID.source})` : `\\k<${group}>`;
  }

  #compare(command, actual, expected) {
    const match = this.#pattern(expected).exec(actual);
    if (!match) assert.equal(actual, this.#actual(expected), `${command} prints something else.`);
    for (const [id] of expected.matchAll(new RegExp(UUID, 'g'))) {
      const seen = match.groups?.[`id${id.replaceAll('-', '')}`];
      if (seen) this.#ids.set(id, seen);
    }
  }
}

function escaped(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
