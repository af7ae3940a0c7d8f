import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './support/documents.js';

const run = promisify(execFile);

/** A test as a user of the package writes it, without what it takes from its runner. */
const TEST = `
import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { message, QueryModule } from 'nest-agent-query';
import { ask, Clock, collect, contextOf, queryOf, ScriptedHandler, TestClock } from 'nest-agent-query/testing';

test('a handler alone', async () => {
  const handler = new ScriptedHandler([message('Hi')]);
  expect(await collect(handler.handle(await queryOf('Hello'), await contextOf()))).toEqual([message('Hi')]);
});

test('an application', async () => {
  const handler = new ScriptedHandler();
  const clock = new TestClock();
  const testing = await Test.createTestingModule({ imports: [QueryModule.forRoot({ handler })] })
    .overrideProvider(Clock)
    .useValue(clock)
    .compile();
  const app = testing.createNestApplication();
  const asking = ask(app, ['Hello', { name: 'a.txt', content: 'a' }, new File(['b'], 'b.txt')]);
  const call = await handler.call(1);
  expect(call.query.parts.map(({ type }) => type)).toEqual(['text', 'file', 'file']);
  await clock.pass('timeoutMs');
  expect((await asking).end).toMatchObject({ status: 'failed', error: { code: 'run_timeout' } });
  await app.close();
});
`;

describe('The tools for tests', () => {
  let directory: string;
  // Inside of the package, so that it finds itself by its name.
  beforeEach(async () => (directory = await mkdtemp(join(ROOT, '.examples-'))));
  afterEach(() => rm(directory, { recursive: true }));

  it('work in Vitest', async () => {
    await writeFile(join(directory, 'a.test.mjs'), `import { expect, test } from 'vitest';\n${TEST}`);
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    const { stdout } = await run(process.execPath, [vitest, 'run', '--root', directory], {
      env: { PATH: process.env['PATH'], NO_COLOR: '1' },
    });
    expect(stdout).toMatch(/^ +Tests +2 passed \(2\)$/m);
  });

  it('work in Jest', async () => {
    await writeFile(join(directory, 'a.test.mjs'), TEST);
    const config = { rootDir: directory, testMatch: ['**/*.test.mjs'], transform: {} };
    const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
    const { stderr } = await run(
      process.execPath,
      ['--experimental-vm-modules', '--no-warnings', jest, '--config', JSON.stringify(config)],
      { env: { PATH: process.env['PATH'] } },
    );
    expect(stderr).toMatch(/^Tests: +2 passed, 2 total$/m);
  });
});
