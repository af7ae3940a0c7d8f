import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promise } from '../promises.js';
import { ask } from '../support/client.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { refusalOf, serve, type SharedService } from '../support/service.js';

/** An agent that answers with a word. "wait" answers it again, after a query "go". */
const saying = (word: string, rest = '') => `${rest}
export default async function* ({ parts }) {
  const [{ text }] = parts;
  yield { type: 'message', data: { content: ${word} } };
  if (text === 'wait') {
    await new Promise((resolve) => (globalThis.go = resolve));
    yield { type: 'message', data: { content: ' and ' + ${word} } };
  }
  if (text === 'go') globalThis.go();
}`;

const RELOADED = 'has changed and was loaded again';

describe('The service with --watch', () => {
  let directory: string;
  let service: SharedService | undefined;
  /** How much of the output a test has looked at. */
  let read: number;

  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'agent-reloads-')));
    read = 0;
  });

  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await rm(directory, { recursive: true });
  });

  async function write(files: Record<string, string>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), text);
    }
  }

  async function start(files: Record<string, string>, agent = './agent.mjs'): Promise<void> {
    await write(files);
    service = await serve({ AGENT: agent, WATCH: 'true' }, directory);
  }

  /** Waits until the service has written a text that the test has not seen, and returns what it has written until then. */
  async function output(text: string): Promise<string> {
    await eventuallyElsewhere(() => service!.output().includes(text, read));
    const end = service!.output().indexOf(text, read) + text.length;
    const seen = service!.output().slice(read, end);
    read = end;
    return seen.replaceAll(directory, '<directory>');
  }

  const answer = async (text = 'hello') => (await (await ask(service!.url, text)).answer()).text;

  it.each<[string, () => Promise<void>]>([
    ['written', () => write({ 'agent.mjs': saying("'two'") })],
    [
      'replaced by another one',
      async () => {
        await write({ 'agent.mjs~': saying("'two'") });
        await rename(join(directory, 'agent.mjs~'), join(directory, 'agent.mjs'));
      },
    ],
    [
      'removed and written',
      async () => {
        await rm(join(directory, 'agent.mjs'));
        await output('There is no file <directory>/agent.mjs.'.replace('<directory>', directory));
        expect(await answer()).toBe('one');
        await write({ 'agent.mjs': saying("'two'") });
      },
    ],
  ])(promise('service.watch', 'a file is %s'), async (_, change) => {
    await start({ 'agent.mjs': saying("'one'") });
    expect(await answer()).toBe('one');
    await change();
    await output(RELOADED);
    expect(await answer()).toBe('two');
  });

  it(promise('service.watch', 'a symbolic link leads to another file'), async () => {
    const link = join(directory, 'agent.mjs');
    await symlink('first.mjs', link);
    await start({ 'first.mjs': saying("'one'"), 'lib/second.mjs': saying("'two'") });
    expect(await answer()).toBe('one');
    await symlink('lib/second.mjs', `${link}~`);
    await rename(`${link}~`, link);
    await output(RELOADED);
    expect(await answer()).toBe('two');
    await write({ 'lib/second.mjs': saying("'three'") });
    await output(RELOADED);
    expect(await answer()).toBe('three');
  });

  it.each<[string, string, Record<string, string>, Record<string, string>]>([
    [
      'an ES module',
      './agent.mjs',
      {
        'agent.mjs': saying('word', "import { word } from './lib/a.mjs';"),
        'lib/a.mjs': "export * from '../b.mjs';",
        'b.mjs': "export const word = 'one';",
      },
      { 'b.mjs': "export const word = 'two';" },
    ],
    [
      'CommonJS',
      './agent.mjs',
      {
        'agent.mjs': saying('word', "import { word } from './lib/a.cjs';"),
        'lib/a.cjs': "exports.word = require('../b.cjs');",
        'b.cjs': "module.exports = 'one';",
      },
      { 'b.cjs': "module.exports = 'two';" },
    ],
    [
      'a CommonJS agent',
      './agent.cjs',
      {
        'agent.cjs': saying('word', "const word = require('./b.cjs');").replace(
          'export default',
          'module.exports =',
        ),
        'b.cjs': "module.exports = 'one';",
      },
      { 'b.cjs': "module.exports = 'two';" },
    ],
  ])(promise('service.watch', 'an imported file changes: %s'), async (_, agent, files, changed) => {
    await start(files, agent);
    expect(await answer()).toBe('one');
    await write(changed);
    await output(RELOADED);
    expect(await answer()).toBe('two');
  });

  it(promise('service.watch', 'a run goes on with the code with which it has begun'), async () => {
    await start({
      'agent.mjs': saying('word', "import { word } from './b.mjs';"),
      'b.mjs': "export const word = 'one';",
    });
    const running = await ask(service!.url, 'wait');
    await running.until('one');
    await write({ 'b.mjs': "export const word = 'two';" });
    await output(RELOADED);
    expect(await answer('go')).toBe('two');
    expect(await running.answer()).toEqual({ text: 'one and one', done: [{ status: 'completed' }] });
  });

  it(promise('service.watch', 'packages are not loaded again'), async () => {
    const word = "import { count } from 'counted';";
    await start({
      'agent.mjs': saying("'one ' + count", word),
      'node_modules/counted/index.mjs':
        'export const count = (globalThis.counted = (globalThis.counted ?? 0) + 1);',
      'node_modules/counted/package.json': '{"exports":"./index.mjs"}',
    });
    await write({ 'node_modules/counted/index.mjs': 'export const count = 9;' });
    await write({ 'agent.mjs': saying("'two ' + count", word) });
    await output(RELOADED);
    expect(await answer()).toBe('two 1');
  });

  it(promise('service.watch', 'many changes are few reloads'), async () => {
    const counting = (word: string) =>
      saying(`'${word} ' + globalThis.loads`, 'globalThis.loads = (globalThis.loads ?? 0) + 1;');
    await start({ 'agent.mjs': counting('0') });
    for (let number = 1; number <= 200; number++)
      writeFileSync(join(directory, 'agent.mjs'), counting(String(number)));
    let word = '';
    let loads = '';
    await eventuallyElsewhere(async () => {
      [word = '', loads = ''] = (await answer()).split(' ');
      return word === '200';
    });
    expect(Number(loads)).toBeLessThan(20);
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'a syntax error',
      { 'agent.mjs': 'export default 1 2;' },
      'Syntax error: Unexpected number\n<directory>/agent.mjs:1:18\nexport default 1 2;\n                 ^',
    ],
    [
      'a syntax error in an imported file',
      { 'b.mjs': 'export default 1 2;' },
      'Syntax error: Unexpected number\n<directory>/b.mjs:1:18\nexport default 1 2;\n                 ^',
    ],
    [
      'an exception',
      { 'agent.mjs': "throw new Error('No key');" },
      'It throws while it is loaded: Error: No key\n    at file://<directory>/agent.mjs:1:7',
    ],
    ['no handler', { 'agent.mjs': 'export default 1;' }, 'Its default export is of the type number; '],
    [
      'a missing file',
      { 'agent.mjs': "import './c.mjs';" },
      '<directory>/agent.mjs imports <directory>/c.mjs, and there is no such file.',
    ],
    [
      'a hook that fails',
      { 'agent.mjs': "export default { handle() {}, onModuleInit() { throw new Error('No key'); } };" },
      'It throws while it is loaded: Error: No key\n    at Object.onModuleInit (file://<directory>/agent.mjs:1:54)',
    ],
  ])(promise('service.watch-failure', '%s'), async (_, files, expected) => {
    await start({
      'agent.mjs': saying("'one' + word", "import word from './b.mjs';"),
      'b.mjs': 'export default 1;',
    });
    await write(files);
    const introduction =
      './agent.mjs has changed, and the new version cannot be used. The version before it goes on answering. ';
    expect(await output(expected.replaceAll('<directory>', directory))).toContain(introduction + expected);
    expect(service!.output()).not.toMatch(/node:internal|dist\/agents/);
    expect(await answer()).toBe('one1');
    await write({ 'agent.mjs': saying("'two'"), 'b.mjs': '' });
    await output(RELOADED);
    expect(await answer()).toBe('two');
  });

  it(promise('service.watch-failure', 'a file that was missing appears'), async () => {
    await start({ 'agent.mjs': saying("'one'") });
    await write({ 'agent.mjs': saying('word', "import word from './b.mjs';") });
    await output('and there is no such file');
    await write({ 'b.mjs': "export default 'two';" });
    await output(RELOADED);
    expect(await answer()).toBe('two');
  });

  it(promise('service.watch-failure', 'a version that is never loaded'), async () => {
    await start({ 'agent.mjs': saying("'one'") });
    await write({ 'agent.mjs': saying("'two'", "console.log('begun'); await new Promise(() => {});") });
    await output('begun');
    expect(await answer()).toBe('one');
    await write({ 'agent.mjs': saying("'three'") });
    await output(RELOADED);
    expect(await answer()).toBe('three');
    await write({
      'agent.mjs': saying("'four'", "console.log('begun again'); await new Promise(() => {});"),
    });
    await output('begun again');
    await service!.stop();
    service = undefined;
  });

  it(promise('service.watch-hooks'), async () => {
    const hooks = ['onModuleInit', 'onApplicationBootstrap', 'onModuleDestroy', 'onApplicationShutdown'];
    const agent = (name: string) => `
      globalThis.releases ??= {};
      export default class {
        ${hooks.map((hook) => `${hook}() { console.log('${name} ${hook};'); }`).join('\n')}
        async *handle({ parts: [{ text }] }, { signal }) {
          yield { type: 'message', data: { content: '${name}' } };
          if (text === 'wait') await new Promise((resolve) => (globalThis.releases['${name}'] = resolve));
          else globalThis.releases[text]?.();
        }
      }`;
    await start({ 'agent.mjs': agent('one') });
    expect(await output('one onApplicationBootstrap;')).toContain('one onModuleInit;');
    const running = await ask(service!.url, 'wait');
    await running.until('one');
    await write({ 'agent.mjs': agent('two') });
    const reload = await output(RELOADED);
    expect(reload).toMatch(/two onModuleInit;\ntwo onApplicationBootstrap;\n/);
    expect(reload).not.toContain('one ');
    expect(await answer('one')).toBe('two');
    await running.whole();
    expect(await output('one onApplicationShutdown;')).toContain('one onModuleDestroy;');
    const { output: whole } = service!;
    await service!.stop();
    expect(await output('two onApplicationShutdown;')).toContain('two onModuleDestroy;');
    service = undefined;
    expect(whole().match(/onModuleDestroy/g)).toHaveLength(2);
  });

  it.each<[Record<string, string>, string]>([
    [{ WATCH: 'true' }, 'WATCH and --watch have no effect without an AGENT that is the path of a module.'],
    [
      { AGENT: 'remote', REMOTE_URL: 'http://127.0.0.1:1', WATCH: 'true' },
      'WATCH and --watch have no effect',
    ],
    [{ WATCH: 'yes' }, 'WATCH is "yes"; it must be "true" or "false".'],
  ])(promise('service.environment', '%j'), async (environment, sentence) => {
    const { message, exitCode } = await refusalOf(environment);
    expect([exitCode, message]).toEqual([1, expect.stringContaining(sentence)]);
  });
});
