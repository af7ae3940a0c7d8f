import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promise } from '../promises.js';
import { ask, request } from '../support/client.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import {
  type Refusal,
  refusalOf,
  serve,
  type SharedService,
  spawnService,
  startService,
} from '../support/service.js';

const ANSWER = "yield { type: 'message', data: { content: 'Hi' } };";
const HI = { text: 'Hi', done: [{ status: 'completed' }] };
const TYPED = `interface Query { parts: { text: string }[] }
export default async function* (query: Query) {
  yield { type: 'message', data: { content: query.parts[0]!.text as string } };
}`;
const isTypeScriptNative = Boolean((process.features as { typescript?: unknown }).typescript);

describe('A module as the agent of the service', () => {
  let directory: string;
  let service: SharedService | undefined;

  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'agent-modules-')));
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

  function sentencesOf({ message, exitCode }: Refusal): string {
    const text = message.replaceAll(directory, '<directory>');
    expect(text).not.toMatch(/node:internal|dist\/agents/);
    expect(text.startsWith('nest-agent-query cannot start.\n')).toBe(true);
    return `${text.slice(text.indexOf('\n') + 1)}exit ${exitCode}`;
  }

  /** What a service says that does not start, and its exit code. */
  async function refusal(files: Record<string, string>, agent: string): Promise<string> {
    await write(files);
    return sentencesOf(await refusalOf({ AGENT: agent }, directory));
  }

  it.each<[string, Record<string, string>, (directory: string) => string]>([
    [
      'an absolute path',
      { 'a b.mjs': `export default async function* () { ${ANSWER} }` },
      (at) => `${at}/a b.mjs`,
    ],
    [
      'a URL',
      { 'ä b.mjs': `export default async function* () { ${ANSWER} }` },
      (at) => pathToFileURL(`${at}/ä b.mjs`).href,
    ],
    ['a path without ./', { 'a/b.mjs': `export default async function* () { ${ANSWER} }` }, () => 'a/b.mjs'],
    ['CommonJS', { 'a.cjs': `module.exports = async function* () { ${ANSWER} };` }, () => './a.cjs'],
    [
      'CommonJS that a compiler has made',
      { 'a.cjs': `exports.__esModule = true; exports.default = async function* () { ${ANSWER} };` },
      () => './a.cjs',
    ],
    [
      'a class with a property',
      { 'a.mjs': `export default class { handle = async function* () { ${ANSWER} } }` },
      () => './a.mjs',
    ],
    [
      'a frozen object',
      { 'a.mjs': `export default Object.freeze({ async *handle() { ${ANSWER} } })` },
      () => './a.mjs',
    ],
  ])(promise('service.agent-file', '%s'), async (_, files, agent) => {
    await write(files);
    service = await serve({ AGENT: agent(directory) }, directory);
    expect(await (await ask(service.url, 'hello')).answer()).toEqual(HI);
  });

  it(promise('service.agent-file', 'an object with hooks'), async () => {
    const agent = `export default {
      onModuleInit() { this.greeting = 'Hi'; },
      async *handle() { yield { type: 'message', data: { content: this.greeting } }; },
      sessionErased({ owner, id }) { console.log('erased ' + owner + ' ' + id); },
      onApplicationShutdown() { console.log('shut down'); },
    }`;
    await write({ 'agent.mjs': agent });
    service = await serve({ AGENT: './agent.mjs' }, directory);
    expect(await (await ask(service.url, 'hello', { kwargs: { session_id: 's' } })).answer()).toEqual(HI);
    expect((await request(service.url, { method: 'DELETE', path: '/query/sessions/s' })).status).toBe(204);
    const { output } = service;
    await eventuallyElsewhere(() => output().includes('erased anonymous s\n'));
    await service.stop();
    service = undefined;
    await eventuallyElsewhere(() => output().includes('shut down\n'));
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'a syntax error',
      { 'agent.mjs': "export default async function* () {\n  yield { type: 'message' data: 1 };\n}" },
      'AGENT is "./agent.mjs". Syntax error: Unexpected identifier \'data\'\n<directory>/agent.mjs:2:27\n' +
        "  yield { type: 'message' data: 1 };\n                          ^\nexit 65",
    ],
    [
      'a syntax error in a file that it imports',
      {
        'agent.mjs': "import './lib/a.js';",
        'lib/a.js': "import '../b.mjs'",
        'b.mjs': '\n\n\tlet a = 1 2;',
        'package.json': '{"type":"module"}',
      },
      'AGENT is "./agent.mjs". Syntax error: Unexpected number\n<directory>/b.mjs:3:12\n\tlet a = 1 2;\n\t          ^\nexit 65',
    ],
    [
      'a syntax error in a file that it imports while it is executed',
      { 'agent.mjs': "await import('./b.mjs');", 'b.mjs': 'let a = 1 2;' },
      'AGENT is "./agent.mjs". Syntax error: Unexpected number\n<directory>/b.mjs:1:11\nlet a = 1 2;\n          ^\nexit 65',
    ],
    [
      'a syntax error in CommonJS',
      { 'agent.cjs': 'let a = 1 2;' },
      'AGENT is "./agent.cjs". Syntax error: Unexpected number\n<directory>/agent.cjs:1:11\nlet a = 1 2;\n          ^\nexit 65',
    ],
    [
      'an import of a name that is not exported',
      { 'agent.mjs': "import { b } from './b.mjs';", 'b.mjs': 'export default 1;' },
      "AGENT is \"./agent.mjs\". Syntax error: The requested module './b.mjs' does not provide an export named 'b'\n" +
        "<directory>/agent.mjs:1:10\nimport { b } from './b.mjs';\n         ^\nexit 65",
    ],
    [
      'no file',
      {},
      'AGENT is "./agent.mjs"; it must be "files", "model", "command", "acp", "remote" or the path of a JavaScript module. ' +
        'There is no file <directory>/agent.mjs.\nexit 66',
    ],
    [
      'a package that is not installed',
      { 'agent.mjs': "import '@scope/no-such-package/part';" },
      'AGENT is "./agent.mjs". <directory>/agent.mjs imports the package "@scope/no-such-package", which is not installed. ' +
        'Run npm install @scope/no-such-package\nexit 69',
    ],
    [
      'a package that CommonJS requires',
      { 'agent.cjs': "require('no-such-package/part');" },
      'AGENT is "./agent.cjs". <directory>/agent.cjs imports the package "no-such-package", which is not installed. ' +
        'Run npm install no-such-package\nexit 69',
    ],
    [
      'a file that is not there',
      { 'agent.mjs': "import './b.mjs';" },
      'AGENT is "./agent.mjs". <directory>/agent.mjs imports <directory>/b.mjs, and there is no such file.\nexit 69',
    ],
    [
      'an exception',
      { 'agent.mjs': "function open() { throw new TypeError('No key'); }\nopen();" },
      'AGENT is "./agent.mjs". It throws while it is loaded: TypeError: No key\n' +
        '    at open (file://<directory>/agent.mjs:1:25)\n    at file://<directory>/agent.mjs:2:1\nexit 70',
    ],
    [
      'null, thrown',
      { 'agent.mjs': 'throw null;' },
      'AGENT is "./agent.mjs". It throws while it is loaded: null\nexit 70',
    ],
    [
      'no default export',
      { 'agent.mjs': 'export function answer() {}' },
      'AGENT is "./agent.mjs". It has no default export, only answer; its default export must be a function such as ' +
        'async function* (query, context) {…}, or a class or an object with a method "handle".\nexit 78',
    ],
    [
      'a class without the method',
      { 'agent.mjs': 'export default class Agent { answer() {} }' },
      'AGENT is "./agent.mjs". Its default export is the class Agent, which has no method "handle"; its default export ' +
        'must be a function such as async function* (query, context) {…}, or a class or an object with a method "handle".\nexit 78',
    ],
    [
      'a promise as the default export',
      { 'agent.mjs': 'export default Promise.resolve(() => {});' },
      'AGENT is "./agent.mjs". Its default export is a promise. Write "export default await …".\nexit 78',
    ],
    [
      'another language',
      { 'agent.py': 'print(1)' },
      'AGENT is "./agent.py". Node cannot execute <directory>/agent.py: the extension ".py" is not that of a module. ' +
        'A program in another language is served with AGENT=command and COMMAND.\nexit 69',
    ],
  ])(promise('service.agent-file-failure', '%s'), async (_, files, expected) => {
    const [agent = 'agent.mjs'] = Object.keys(files);
    expect(await refusal(files, `./${agent}`)).toBe(expected);
  });

  it(promise('service.agent-file-failure', 'a promise that nothing settles'), async () => {
    await write({ 'agent.mjs': 'await new Promise(() => {});' });
    // Its process ends by itself.
    const { exited, output } = spawnService({ AGENT: './agent.mjs' }, directory);
    const exitCode = Number(await exited);
    expect(sentencesOf({ message: output(), exitCode })).toBe(
      'AGENT is "./agent.mjs". It is never loaded: its top level awaits a promise that nothing settles.\nexit 70',
    );
  });

  it(
    promise('service.agent-file-failure', 'a directory, a path for Windows and a URL of another machine'),
    async () => {
      expect(await refusal({ 'lib/a.mjs': '' }, './lib')).toContain(
        '<directory>/lib is a directory. Name a file.\nexit 66',
      );
      expect(await refusal({}, '.\\agent.mjs')).toContain(
        'On this system, a path has "/" instead of "\\".\nexit 66',
      );
      expect(await refusal({}, 'file://host/agent.mjs')).toContain(
        'This URL names no file of this machine: ',
      );
    },
  );

  it(promise('service.agent-typescript', 'directly'), async () => {
    const files = { 'agent.ts': TYPED, 'package.json': '{"type":"module"}' };
    if (!isTypeScriptNative) {
      const text = await refusal(files, './agent.ts');
      expect(text).toContain(
        `AGENT is "./agent.ts". Node ${process.versions.node} cannot execute <directory>/agent.ts.\n` +
          'Node 22.18 and newer execute TypeScript whose types can be removed, in files .ts, .mts and .cts. ' +
          'For any other, run npm install tsx, and then: AGENT=./agent.ts node --import tsx ',
      );
      // The program that this process executes.
      expect(text).toMatch(/\/services\.mjs\nexit 69$/);
      return;
    }
    await write(files);
    service = await serve({ AGENT: './agent.ts' }, directory);
    expect((await (await ask(service.url, 'typed')).answer()).text).toBe('typed');
    const broken = { 'broken.ts': 'const a: string = 1 2;' };
    expect(await refusal(broken, './broken.ts')).toMatch(
      /Syntax error: .*\n<directory>\/broken.ts:1:21\nconst a/,
    );
    const stripped = { 'stripped.ts': 'export enum A { B }' };
    expect(await refusal(stripped, './stripped.ts')).toMatch(
      /enum is not supported.*\n<directory>\/stripped.ts:1:8\n/,
    );
  });

  it(promise('service.agent-typescript', 'with a loader'), async () => {
    const hooks = new URL('../support/typescript-hooks.mjs', import.meta.url).href;
    await write({
      'loader.mjs': `import { register } from 'node:module'; register(${JSON.stringify(hooks)});`,
      'agent.ts': TYPED,
    });
    const NODE_OPTIONS = `--import ${pathToFileURL(join(directory, 'loader.mjs')).href}`;
    service = await startService({ AGENT: './agent.ts', NODE_OPTIONS }, directory);
    expect((await (await ask(service.url, 'typed')).answer()).text).toBe('typed');
  });
});
