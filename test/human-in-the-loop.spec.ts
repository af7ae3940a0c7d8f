import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { read, ROOT, withoutTypes } from './support/documents.js';
import { freePort } from './support/free-port.mjs';
import { followTutorial } from './support/tutorial.mjs';

/** The application of the page is in a project such as that of the tutorial. */
const [PROJECT] = /^## 1\. [^]*?(?=^## 2\. )/m.exec(read('docs/tutorial.md'))!;

describe('The page about runs that ask', () => {
  it('is an application that compiles, and commands that print what it shows', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'human-in-the-loop-'));
    const steps = await followTutorial({
      folder,
      install: () => symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules')),
      port: await freePort(),
      env: { PATH: process.env['PATH'], HOME: folder },
      document: withoutTypes(PROJECT, ['start', 'test']) + read('docs/human-in-the-loop.md'),
    });
    await rm(folder, { recursive: true });
    expect(steps).toEqual(expect.arrayContaining(['refund.handler.ts', 'npm start', 'npm test', 'Ctrl-C']));
    // It waits for two compilations of the long form, and for streams that stay open for a second.
  }, 180_000);
});
