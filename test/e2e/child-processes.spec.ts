import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promise } from '../promises.js';
import { anyRuns, parsersOf, pidsIn, STUBBORN } from '../support/child-processes.js';
import { ask, request } from '../support/client.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { greedyPdf } from '../support/hostile-files.mjs';
import { IS_LONG } from '../support/long-form.js';
import { type Service, startService } from '../support/service.js';

/** The exit code of each. One table has them: the short form looks at one. */
const SECOND_SIGNALS = (
  [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const
).slice(IS_LONG ? 0 : 1);

/** A file that takes long to parse. */
const GREEDY = greedyPdf().toString('base64');

describe('The processes that a service has started', () => {
  let directory: string;
  let service: Service;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'child-processes-'));
    await writeFile(join(directory, 'stubborn.py'), STUBBORN);
  });
  afterAll(() => rm(directory, { recursive: true }));

  async function start(drainMs: number): Promise<void> {
    const AGENTS = 'reading=files,executing=command';
    const times = { DRAIN_MS: String(drainMs), STOP_DEADLINE_MS: '100' };
    service = await startService({ AGENTS, COMMAND: 'python3 stubborn.py', ...times }, directory);
  }

  /** Asks for a file that takes long. Returns the ids of the processes that parse it. */
  async function parsing(): Promise<number[]> {
    const file = { type: 'file', name: 'a.pdf', mimeType: 'application/octet-stream', base64: GREEDY };
    await request(service.url, { path: '/reading/query' }, JSON.stringify({ parts: [file] }));
    let pids: number[] = [];
    await eventuallyElsewhere(async () => (pids = await parsersOf(service.process.pid!)).length > 0);
    return pids;
  }

  /** Returns the ids of a program that ignores SIGTERM, and of its child. */
  const executing = async () =>
    pidsIn(await (await ask(service.url, '', { path: '/executing/query' })).until('content'));

  const untilNoneRuns = (pids: number[]) => eventuallyElsewhere(async () => !(await anyRuns(pids)));

  it(promise('service.files-agent-orphans', 'killed'), async () => {
    await start(0);
    const parsers = await parsing();
    service.process.kill('SIGKILL');
    await service.exited;
    await untilNoneRuns(parsers);
  });

  describe('that gets a signal', () => {
    let programs: number[];
    let parsers: number[];
    beforeAll(async () => {
      await start(0);
      programs = await executing();
      parsers = await parsing();
      service.process.kill('SIGTERM');
      expect(await service.exited).toBe(0);
    });

    it(promise('service.files-agent-orphans', 'stopped'), () => untilNoneRuns(parsers));
    it(promise('service.command-shutdown'), () => untilNoneRuns(programs));
  });

  describe.each(SECOND_SIGNALS)('that gets SIGINT and then %s', (signal, exitCode) => {
    let programs: number[];
    beforeAll(async () => {
      await start(60_000);
      programs = await executing();
      service.process.kill('SIGINT');
      await eventuallyElsewhere(() => service.output().includes('Another signal'));
      service.process.kill(signal);
    });

    it(promise('service.second-signal'), async () => {
      expect(await service.exited).toBe(exitCode);
      expect(service.output()).toContain('Runs: 1 executing, 0 waiting.');
      expect(service.output()).toContain(
        `nest-agent-query ends at once, because of a second signal (${signal}).`,
      );
    });
    it(promise('service.command-shutdown', 'after a second signal'), () => untilNoneRuns(programs));
  });
});
