import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anyRuns } from '../../../test/support/child-processes.js';
import { deferred, eventuallyElsewhere } from '../../../test/support/conditions.js';
import { type Envelope, message, type QueryContext, type ResolvedInput } from '../../query/index.js';
import { contextOf, queryOf } from '../../testing/index.js';
import { type CommandOptions, commandHandler } from './index.js';

const REQUEST = { id: 'refund-881', kind: 'approval', message: 'Refund?', editable: true };
const QUESTION = { key: 'refund-881', kind: 'approval', message: 'Refund?', editable: true };
const ASK = `echo '${JSON.stringify({ type: 'input_required', data: { requests: [REQUEST] } })}'`;
const KEEP = `echo '{"type":"checkpoint","data":{"step":1}}'`;
const APPROVED = { approved: true };
const ANSWER: ResolvedInput = {
  id: 'refund-881',
  outcome: 'answered',
  value: APPROVED,
  by: 'anonymous',
  at: '2000-01-01T00:00:00.000Z',
};
/** The line of the answer, as the program of the test writes it back. */
const RESOLVED = { type: 'input_resolved', data: { answers: [ANSWER] } };

/** Notes each line that it reads, and asks where it has read none but the query of the first start. */
const ONCE = `cat >lines; if grep -q '"resumed":null' lines; then ${ASK}; exit 75; fi; cat lines`;

describe('A program of the agent command that asks', () => {
  let directory: string;
  beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'asking-'))));
  afterEach(() => rm(directory, { recursive: true }));

  const handlerOf = (command: string, options: Partial<CommandOptions> = {}) =>
    commandHandler({ command, cwd: directory, directory, env: { PATH: process.env['PATH'] }, ...options });

  /** Takes the answer of one attempt. */
  async function answerOf(handler: ReturnType<typeof handlerOf>, context: QueryContext): Promise<Envelope[]> {
    const envelopes: Envelope[] = [];
    const answer = handler.handle(await queryOf('hello'), context) as AsyncIterable<Envelope>;
    for await (const envelope of answer) envelopes.push(envelope);
    return envelopes;
  }

  const approving = (more = {}) => contextOf({ answers: { 'refund-881': APPROVED }, ...more });
  const isThere = (name: string) => existsSync(join(directory, name));
  const contentOf = ({ data }: Envelope) => (data as { content: string }).content;

  it('is started again with the answers as its second line, if it ends with the exit code 75', async () => {
    const context = await approving();
    const [query, answers, ...more] = await answerOf(handlerOf(`${KEEP}; ${ONCE}`), context);
    expect(JSON.parse(contentOf(query!))).toMatchObject({
      runId: 'test-run',
      resumed: { attempt: 2, state: { step: 1 } },
    });
    expect([answers, more]).toEqual([RESOLVED, []]);
    expect(context.questions).toEqual([QUESTION]);
  });

  it('is started again in another process, with its last checkpoint', async () => {
    const first = await contextOf();
    const ask = () => Promise.reject(new Error('Handed over'));
    const kept: unknown[] = [];
    const asked = answerOf(handlerOf(`${KEEP}; ${KEEP.replace('1', '2')}; ${ONCE}`), {
      ...first,
      ask: async (_, { checkpoint } = {}) => (kept.push(JSON.parse(JSON.stringify(checkpoint))), ask()),
    });
    await expect(asked).rejects.toThrow('Handed over');
    expect(kept).toEqual([{ starts: 1, state: { step: 2 }, questions: [QUESTION], earlier: [] }]);
    const second = await approving({ resumed: { attempt: 2, state: kept[0] } });
    const [query, answers] = await answerOf(handlerOf(ONCE), second);
    expect(JSON.parse(contentOf(query!))).toMatchObject({ resumed: { attempt: 2, state: { step: 2 } } });
    expect(answers).toEqual(RESOLVED);
  });

  it('may ask again, and has the state null without a checkpoint', async () => {
    const second = ASK.replace('refund-881', 'second');
    const command = `cat >lines; if grep -q '"attempt":3' lines; then cat lines; exit; fi
if grep -q '"attempt":2' lines; then ${second}; else ${ASK}; fi; exit 75`;
    const context = await approving();
    const [query, answers] = await answerOf(handlerOf(command), context);
    expect(JSON.parse(contentOf(query!))).toMatchObject({ resumed: { attempt: 3, state: null } });
    expect(answers).toMatchObject({ data: { answers: [{ id: 'second', outcome: 'declined' }] } });
    expect(context.questions.map(({ key }) => key)).toEqual(['refund-881', 'second']);
  });

  it('says nothing more when it has asked and ends, however much it writes', async () => {
    const command = `if read query && read answer; then echo "$answer"; exit; fi
echo before; ${ASK}; head -c 1000000 /dev/zero | tr '\\0' x; exit 75`;
    expect(await answerOf(handlerOf(command), await approving())).toEqual([message('before\n'), RESOLVED]);
  });

  it('reads the answer as the next line, if its input is kept open', async () => {
    const command = `read query; echo $$; ${ASK}; read answer; echo "$answer"; echo $$`;
    const [before, answer, after] = await answerOf(
      handlerOf(command, { keepInput: true }),
      await approving(),
    );
    expect([answer, after]).toEqual([RESOLVED, before]);
  });

  it.each([
    ['', {}],
    [KEEP, { checkpoint: { starts: 1, state: { step: 1 }, questions: [QUESTION], earlier: [] } }],
  ])('survives its process with an open input if it has written a checkpoint: %j', async (keep, options) => {
    const asked: unknown[] = [];
    const context = await contextOf();
    const ask: QueryContext['ask'] = async (_, given) => (asked.push(given), [ANSWER]);
    await answerOf(handlerOf(`${keep}\n${ASK}; read query; read answer`, { keepInput: true }), {
      ...context,
      ask,
    });
    expect(asked).toEqual([options]);
  });

  it('leaves its place to other programs, if it ends until the answer comes', async () => {
    const command = `read query; case $query in *'"resumed":null'*) ${ASK}; exit 75;; esac; echo again`;
    for (const keepInput of [false, true]) {
      const handler = handlerOf(command, { keepInput, processes: 1 });
      const isAsked = deferred();
      const isAnswered = deferred();
      const ask = async () => {
        isAsked.resolve();
        await isAnswered.promise;
        return [ANSWER];
      };
      const first = answerOf(handler, { ...(await contextOf()), ask });
      await isAsked.promise;
      const second = await answerOf(handler, await approving());
      expect(second.at(-1)).toEqual(message('again\n'));
      isAnswered.resolve();
      expect(await first).toEqual([message('again\n')]);
    }
  });

  it('keeps its place while it waits, and is killed with its children when the run must stop', async () => {
    const command = `sleep 1000 & echo $$ $! >pids; ${ASK}; read query; read answer`;
    const handler = handlerOf(command, { keepInput: true, processes: 1 });
    const context = await contextOf();
    const isAsked = deferred();
    const waiting = answerOf(handler, {
      ...context,
      ask: () => {
        isAsked.resolve();
        return new Promise((_, reject) =>
          context.signal.addEventListener('abort', () => reject(new Error('The run is cancelled.'))),
        );
      },
    });
    await isAsked.promise;
    const pids = readFileSync(join(directory, 'pids'), 'utf8').trim().split(' ').map(Number);
    const other = handler.handle(await queryOf(''), await contextOf()) as AsyncGenerator<Envelope>;
    expect((await other.next()).value).toMatchObject({ type: 'log' });
    await other.return(undefined);
    expect(await anyRuns(pids)).toBe(true);
    context.abort();
    await expect(waiting).rejects.toThrow('The run is cancelled.');
    expect(await anyRuns(pids)).toBe(false);
  });

  it.each([
    [`${ASK}; exit 0`, false, 'The program has asked, and has ended with the exit code 0 in place of 75.'],
    [`${ASK}; exit 3`, false, 'The program ended with the exit code 3. It has written nothing'],
    ['exit 75', false, 'The program ended with the exit code 75. It has written nothing'],
    [`${ASK}; exit 75`, false, 'The program has asked again what was answered before.'],
    [`${ASK}; exit 75`, true, 'The program has asked again what was answered before.'],
    [
      `${ASK}; exec sleep 1000`,
      false,
      'The program has asked, and still executes 1000 ms later. It must end',
    ],
  ])('fails with %j (input kept open: %j)', async (command, keepInput, sentence) => {
    const handler = handlerOf(command, { keepInput, stopDeadlineMs: 1 });
    await expect(answerOf(handler, await approving())).rejects.toThrow(sentence);
  });

  it('fails if it ends while its run asks', async () => {
    const handler = handlerOf(`${ASK}; until [ -e gate ]; do sleep 0.02; done; exit 4`, { keepInput: true });
    const asking = answerOf(handler, {
      ...(await contextOf()),
      ask: () => {
        void writeFile(join(directory, 'gate'), '');
        return new Promise(() => undefined);
      },
    });
    await expect(asking).rejects.toThrow('The program ended with the exit code 4.');
    await eventuallyElsewhere(() => isThere('gate'));
  });

  it.each(['null', '{}', '{"requests":{}}', '{"requests":[1]}'])('fails with the data %s', async (data) => {
    const handler = handlerOf(`echo '{"type":"input_required","data":${data}}'`);
    await expect(answerOf(handler, await contextOf())).rejects.toMatchObject({
      code: 'invalid_envelope',
      message: 'The agent asked without `data.requests`, an array of requests.',
    });
  });

  it('fails with a question that is not valid', async () => {
    const ask = () => Promise.reject(new TypeError('The question "a" cannot be asked.'));
    await expect(
      answerOf(handlerOf(`${ASK}; exit 75`), { ...(await contextOf()), ask }),
    ).rejects.toMatchObject({
      code: 'invalid_envelope',
      message: 'The agent asked something that is not valid. The question "a" cannot be asked.',
    });
  });

  it('leaves the state of a host that wraps it as it is', async () => {
    const resumed = { attempt: 2, state: { mine: 1 } };
    const [query] = await answerOf(handlerOf('cat'), await contextOf({ resumed }));
    expect(JSON.parse(contentOf(query!))).toMatchObject({ resumed });
  });
});
