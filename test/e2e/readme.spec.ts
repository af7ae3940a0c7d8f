import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { Environment } from '../../src/config.js';
import { startService } from '../support/service.js';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');
const readme = await readFile(join(ROOT, 'README.md'), 'utf8');

/** The code block of the README that begins with a file's name. */
function example(name: string): string {
  const [, code] =
    new RegExp(`\`\`\`[tj]s\n// ${name.replaceAll('.', '\\.')}\n([^]*?)\`\`\``).exec(readme) ?? [];
  if (code === undefined) throw new Error(`The README has no example ${name}.`);
  return code;
}

function compiled(code: string): string {
  const module = ts.ModuleKind.ESNext;
  const target = ts.ScriptTarget.ES2022;
  const compilerOptions = { module, target, experimentalDecorators: true, emitDecoratorMetadata: true };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

const ASK = `
async function ask(app, words) {
  await app.listen(0, '127.0.0.1');
  const response = await fetch((await app.getUrl()) + '/query', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ parts: words.map((text) => ({ type: 'text', text })) }),
  });
  process.stdout.write(await response.text());
  await app.close();
}`;

describe('The README', () => {
  let directory: string;

  beforeAll(async () => {
    // Inside of the package, so that it finds itself by its name.
    directory = await mkdtemp(join(ROOT, 'dist/readme-'));
    await writeFile(join(directory, 'app.module.js'), compiled(example('app.module.ts')));
    await writeFile(join(directory, 'app.spec.js'), compiled(example('app.spec.ts')));
  });

  afterAll(() => rm(directory, { recursive: true }));

  async function runScript(script: string): Promise<string> {
    await writeFile(join(directory, 'script.js'), `import 'reflect-metadata';\n${script}\n${ASK}`);
    const { stdout } = await run(process.execPath, ['script.js'], { cwd: directory });
    return stdout;
  }

  it('shows a module that works as printed', async () => {
    const output = await runScript(`
      import { NestFactory } from '@nestjs/core';
      import { AppModule } from './app.module.js';
      await ask(await NestFactory.create(AppModule, { logger: false }), ['nest', 'cuckoo']);`);
    expect(output).toBe(
      'data: {"type":"message","data":{"content":"nest: a place where birds raise their young"}}\n\n' +
        'data: {"type":"message","data":{"content":"cuckoo: unknown"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  });

  it('shows a test that works as printed', async () => {
    const output = await runScript(`
      import { app } from './app.spec.js';
      await ask(app, ['nest']);`);
    expect(output).toBe(
      'data: {"type":"message","data":{"content":"stubbed"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  });

  it('shows an agent of one function that works as printed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'readme-'));
    await writeFile(join(folder, 'my-agent.mjs'), example('my-agent.mjs'));
    const service = await startService({ AGENT: './my-agent.mjs' }, folder);
    const response = await fetch(`${service.url}/query`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"parts":[{"type":"text","text":"hello"}]}',
    });
    expect(await response.text()).toBe(
      'data: {"type":"message","data":{"content":"HELLO"}}\n\ndata: {"type":"done","data":{"status":"completed"}}\n\n',
    );
    await service.stop();
    await rm(folder, { recursive: true });
  });

  it('prints the answer of the service to its first query as it is', async () => {
    const [, command, output] = /```sh\n(curl .*)\n```\n\n````\n([^]*?)````/.exec(readme)!;
    const service = await startService();
    const line = command!.replace('http://127.0.0.1:3000', service.url);
    expect((await run('sh', ['-c', `${line} -sS`])).stdout).toBe(`${output}\n`);
    await service.stop();
  });

  it.each(Object.entries(new Environment()))('lists the variable %s with its default %j', (name, value) => {
    const rows = readme.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    const [, , , shown] = rows.find(([, , variable]) => variable === `\`${name}\``)!;
    expect(shown).toBe(value === '' ? "the system's" : `\`${value}\``);
  });
});
