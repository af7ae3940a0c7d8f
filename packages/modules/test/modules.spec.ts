import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../test/support/conditions.js';

describe('A program that loads a module', () => {
  let directory: string;
  let program: ChildProcess;
  let output: string;

  beforeEach(async () => (directory = await realpath(await mkdtemp(join(tmpdir(), 'modules-')))));

  afterEach(async () => {
    if (program.exitCode === null) {
      program.stdin!.end();
      await once(program, 'close');
    }
    await rm(directory, { recursive: true });
  });

  const write = (name: string, text: string) => writeFile(join(directory, name), text);

  function start(name = 'rules.mjs'): void {
    output = '';
    const file = join(directory, name);
    program = spawn(process.execPath, [join(import.meta.dirname, 'program.mjs'), file]);
    for (const stream of [program.stdout!, program.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text.replaceAll(directory, '')));
  }

  it.each([
    ['has a syntax error', 'export default [1;', "Syntax error: Unexpected token ';'\n/rules.mjs:1:18\n", 65],
    [
      'imports a file that is not there',
      "import './other.mjs';",
      '/rules.mjs imports /other.mjs, and there is no such file.\n',
      69,
    ],
    [
      'throws',
      "throw new Error('broken');",
      'It throws while it is loaded: Error: broken\n    at file:///rules.mjs:1:7\n',
      70,
    ],
    ['exports something else', 'export default 1;', 'Its default export must be an array of rules.\n', 78],
    [
      'awaits what never comes',
      'await new Promise(() => {});',
      'It is never loaded: its top level awaits a promise that nothing settles.\n',
      70,
    ],
  ])('says in a sentence that it %s', async (_, text, sentence, code) => {
    await write('rules.mjs', text);
    start();
    await once(program, 'close');
    expect(output.startsWith(sentence)).toBe(true);
    expect(program.exitCode).toBe(code);
  });

  it('says that there is no file', async () => {
    start('absent.mjs');
    await once(program, 'close');
    expect(output).toBe('There is no file /absent.mjs.\n');
    expect(program.exitCode).toBe(66);
  });

  it('names its own commands where Node cannot execute a file', async () => {
    await write('rules.py', 'print()');
    start('rules.py');
    await once(program, 'close');
    expect(output).toBe(
      'Node cannot execute /rules.py: the extension ".py" is not that of a module. Write it in JavaScript.\n',
    );
  });

  it('gets a new version after each change of a file, and keeps the old one while the new one is faulty', async () => {
    await write('word.mjs', "export const word = 'one';");
    await write('rules.mjs', "import { word } from './word.mjs'; export default [word];");
    start();
    await eventually(() => output === 'one\n');
    await write('word.mjs', "export const word = 'two';");
    await eventually(() => output.includes('was loaded again'));
    expect(output).toMatch(/^one\ntwo\n/);
    await write('rules.mjs', 'export default 1;');
    await eventually(() => output.includes('must be an array'));
    expect(output).toContain(
      '/rules.mjs has changed, and the new version cannot be used. The version before it goes on answering. ' +
        'Its default export must be an array of rules.\n',
    );
    await write('rules.mjs', "import { word } from './word.mjs'; export default [word, 3];");
    await eventually(() => output.includes('two,3\n'));
  });
});
