import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promise } from '../../promises.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import { freePort } from '../../support/free-port.mjs';
import { SHARE_OF_CASES } from '../../support/long-form.js';
import { PatientCaller } from '../../support/patient-caller.js';
import { randomFrom } from '../../support/random.mjs';
import { type Service, startService } from '../../support/service.js';

/** Says words, and stores a checkpoint after each. Those after the number in the file `gate` wait. It notes the run at each attempt. */
const AGENT = `
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
export const restarts = 1000;
export default async function* ({ kwargs }, { runId, signal, resumed, checkpoint }) {
  appendFileSync('calls', runId + '\\n');
  for (let next = resumed?.state?.next ?? 1; next <= kwargs.words; next += 1) {
    yield { type: 'message', data: { content: 'word ' + next + ' ' } };
    await checkpoint({ next: next + 1 });
    while (next >= Number(readFileSync('gate', 'utf8'))) await pause(5, undefined, { signal });
  }
}`;

interface Stop {
  which: 'inner' | 'outer';
  signal: 'SIGKILL' | 'SIGTERM';
}

const ONE_AFTER_ANOTHER: Stop[][] = [
  [{ which: 'inner', signal: 'SIGKILL' }],
  [{ which: 'outer', signal: 'SIGKILL' }],
  [{ which: 'outer', signal: 'SIGTERM' }],
];

/** Who is stopped, and how, in each round. */
const KILLS =
  SHARE_OF_CASES === 1
    ? [...ONE_AFTER_ANOTHER, ONE_AFTER_ANOTHER.slice(0, 2).flat(), ONE_AFTER_ANOTHER[1]!]
    : ONE_AFTER_ANOTHER;

describe('The agent remote of a service that is killed', () => {
  let directory: string;
  const processes = new Map<'inner' | 'outer', Service>();

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'remote-killed-'));
    await writeFile(join(directory, 'agent.mjs'), AGENT);
  });

  afterEach(async () => {
    await Promise.all([...processes.values()].map((service) => service.stop()));
    await rm(directory, { recursive: true });
  });

  it(
    promise('remote.killed'),
    async () => {
      const random = randomFrom(7);
      const words = 10 * (KILLS.length + 1);
      const openGate = (word: number) => writeFile(join(directory, 'gate'), String(word));
      await openGate(0);
      const [innerPort, outerPort] = [`${await freePort()}`, `${await freePort()}`];
      const settings = {
        inner: { AGENT: './agent.mjs', PORT: innerPort, DATABASE_URL: 'file:./inner.db' },
        outer: {
          AGENT: 'remote',
          REMOTE_URL: `http://127.0.0.1:${innerPort}`,
          PORT: outerPort,
          DATABASE_URL: 'file:./outer.db',
          DRAIN_MS: '100',
        },
      };
      const start = async (which: 'inner' | 'outer') =>
        void processes.set(which, await startService(settings[which], directory));
      await start('inner');
      await start('outer');
      const callers = Array.from(
        { length: 3 },
        (_, index) => new PatientCaller(processes.get('outer')!.url, `key-${index}`),
      );
      const body = JSON.stringify({ parts: [{ type: 'text', text: 'x' }], kwargs: { words } });
      const answers = callers.map((caller) => caller.ask(body));
      for (const [round, victims] of KILLS.entries()) {
        const word = 10 * (round + 1);
        await openGate(word);
        const received = random.below(10) + word - 9;
        await eventuallyElsewhere(() => callers.some(({ text }) => text.includes(`word ${received} `)));
        await Promise.all(
          victims.map(async ({ which, signal }) => {
            const victim = processes.get(which)!;
            victim.process.kill(signal);
            await victim.exited;
            await start(which);
          }),
        );
      }
      await openGate(words + 1);
      await Promise.all(answers);
      for (const { text, end, hasGap } of callers)
        expect({ text, end, hasGap }).toEqual({
          text: Array.from({ length: words }, (_, index) => `word ${index + 1} `).join(''),
          end: { status: 'completed' },
          hasGap: false,
        });
      const calls = await readFile(join(directory, 'calls'), 'utf8');
      // The service may be killed before it calls the handler for the first time: then that attempt is not noted.
      expect(new Set(calls.trimEnd().split('\n')).size).toBe(callers.length);
    },
    240_000,
  );
});
