import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { codeBlocks, compiled, read, ROOT } from '../support/documents.js';
import { serve } from '../support/service.js';

const run = promisify(execFile);
const readme = read('README.md');

const ASK = `
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule, { logger: false });
await app.listen(0, '127.0.0.1');
const response = await fetch((await app.getUrl()) + '/query', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({
    parts: [
      { type: 'text', text: 'Hello' },
      { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'SGk=' },
    ],
  }),
});
process.stdout.write(await response.text());
await app.close();
`;

describe('The README', () => {
  it('shows the two commands', () => {
    expect(readme).toMatch(/^npm ci && npm start /m);
    expect(readme).toMatch(/^npm ci && npm test /m);
  });

  it('shows a module that works as printed', async () => {
    const { code } = codeBlocks('README.md').find(({ name }) => name === 'app.module.ts')!;
    // Inside of the package, so that it finds itself by its name.
    const directory = await mkdtemp(join(ROOT, '.examples-'));
    await writeFile(join(directory, 'app.module.js'), compiled(code));
    await writeFile(join(directory, 'ask.js'), ASK);
    const { stdout } = await run(process.execPath, ['ask.js'], { cwd: directory });
    await rm(directory, { recursive: true });
    expect(stdout).toBe(
      'data: {"type":"message","data":{"content":"You wrote: Hello"}}\n\n' +
        'data: {"type":"message","data":{"content":"a.txt: 2 bytes"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  });

  it('prints the answer of the service to its first query as it is', async () => {
    const [, command, output] = /```sh\n(curl [^]*?)\n```\n\n```\n([^]*?)```/.exec(readme)!;
    // No keep-alive comes in between, however long a busy machine takes.
    const service = await serve({ KEEP_ALIVE_MS: '60000' });
    const line = command!.replace('http://127.0.0.1:3000', service.url);
    const { stdout } = await run('sh', ['-c', `${line} -sS`]);
    // A busy machine sends the end of the text later, as a message of its own.
    const together = stdout.replaceAll(
      /("content":"[^\n]*)"\}\}\n\ndata: \{"type":"message","data":\{"content":"/g,
      '$1',
    );
    expect(together).toBe(`${output}\n`);
    await service.stop();
  });
});
