import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { IsNumber } from 'class-validator';
import { concat, of, throwError } from 'rxjs';
import { file, log, message, type QueryContext, toolCall } from '../query/index.js';
import { collect, contextOf, queryOf, ScriptedHandler, TestClock } from './index.js';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('queryOf', () => {
  it('makes texts and files, in their order', async () => {
    const { parts, kwargs } = await queryOf(
      ['Hello', { name: 'a.txt', content: 'é' }, new File(['b'], 'b.csv', { type: 'text/csv' })],
      { a: 1 },
    );
    expect(parts).toEqual([
      { type: 'text', text: 'Hello' },
      { type: 'file', name: 'a.txt', mimeType: 'text/plain', sha256: sha256('é'), file: expect.any(File) },
      { type: 'file', name: 'b.csv', mimeType: 'text/csv', sha256: sha256('b'), file: expect.any(File) },
    ]);
    const [, file] = parts;
    if (file?.type !== 'file') throw new Error('The second part is no file.');
    expect([file.file.name, file.file.type, file.file.size, await file.file.text()]).toEqual([
      'a.txt',
      'text/plain',
      2,
      'é',
    ]);
    expect(kwargs).toEqual({ a: 1 });
  });

  it('detects the type of a file as the service does', async () => {
    const typeOf = async (mimeType: string) => {
      const [part] = (await queryOf({ name: 'a', mimeType, content: PNG })).parts;
      return part?.type === 'file' && part.detectedMimeType;
    };
    expect(await typeOf('application/pdf')).toBe('image/png');
    expect(await typeOf('image/png')).toBeUndefined();
    expect(await typeOf('application/octet-stream')).toBeUndefined();
  });

  it('makes kwargs of a class, and refuses those that break its rules', async () => {
    class Kwargs {
      @IsNumber()
      temperature = 1;
    }
    const { kwargs } = await queryOf('Hello', { temperature: 2, other: 3 }, Kwargs);
    expect(kwargs).toBeInstanceOf(Kwargs);
    expect(kwargs).toEqual({ temperature: 2, other: 3 });
    await expect(queryOf('Hello', { temperature: 'hot' }, Kwargs)).rejects.toMatchObject({
      code: 'invalid_query',
    });
  });
});

describe('contextOf', () => {
  it('has no session unless the test wants one', async () => {
    expect(await contextOf()).toMatchObject({ runId: 'test-run', owner: 'anonymous', session: undefined });
    const { session, history } = await contextOf({ sessionId: 's', owner: 'ada', olderTurns: 7 });
    expect(session).toMatchObject({ id: 's', olderTurns: 7 });
    expect(history).toEqual([]);
  });

  it('has turns, whose files can be opened', async () => {
    const content = 'city,sales\n';
    const { session, history } = await contextOf({
      turns: [
        { question: ['Look', { name: 'a.csv', mimeType: 'text/csv', content }], answer: 'A table' },
        { question: 'Again', answer: [toolCall('1', 'look'), log('-')], end: { status: 'cancelled' } },
      ],
    });
    expect(history).toEqual([
      {
        runId: 'turn-1',
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'file', name: 'a.csv', mimeType: 'text/csv', size: 11, sha256: sha256(content) },
        ],
        text: 'A table',
        envelopes: [message('A table')],
        end: { status: 'completed' },
        createdAt: '2000-01-01T00:00:00.000Z',
        endedAt: '2000-01-01T00:00:30.000Z',
      },
      expect.objectContaining({
        runId: 'turn-2',
        text: '',
        envelopes: [toolCall('1', 'look')],
        end: { status: 'cancelled' },
      }),
    ]);
    expect(await (await session!.file(sha256(content))).text()).toBe(content);
    await expect(session!.file('0')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('shows the states that the handler stores, as JSON keeps them', async () => {
    const context = await contextOf();
    expect(context.resumed).toBeUndefined();
    const state = { step: 1, at: new Date(0), left: undefined };
    await context.checkpoint(state);
    state.step = 2;
    await context.checkpoint([state.step]);
    expect(context.checkpoints).toEqual([{ step: 1, at: '1970-01-01T00:00:00.000Z' }, [2]]);
    await expect(context.checkpoint(undefined)).rejects.toThrow(
      'The state of a checkpoint must be a value that JSON can represent.',
    );
    await expect(context.checkpoint('x'.repeat(1024 * 1024))).rejects.toThrow(RangeError);
  });

  it('is that of a later attempt, if the test says so', async () => {
    const resumed = { attempt: 2, state: { step: 1 } };
    expect((await contextOf({ resumed })).resumed).toEqual(resumed);
  });

  it('has a signal that the test aborts', async () => {
    const context = await contextOf();
    expect(context.signal.aborted).toBe(false);
    context.abort();
    expect(context.signal.reason).toEqual(new Error('The run is cancelled.'));
  });
});

describe('collect', () => {
  it('reads an async iterable, an Observable, and a promise of either', async () => {
    async function* handler() {
      yield message('a');
      yield log('b');
    }
    const envelopes = [message('a'), log('b')];
    expect(await collect(handler())).toEqual(envelopes);
    expect(await collect(of(...envelopes))).toEqual(envelopes);
    expect(await collect(Promise.resolve(of(...envelopes)))).toEqual(envelopes);
  });

  it('leaves the content of a file for the test to read', async () => {
    const picture = file({ name: 'a.png', mimeType: 'image/png', content: new Uint8Array([1]) });
    expect(await collect(of(picture))).toEqual([picture]);
  });

  it('rejects with what the answer fails with', async () => {
    const failure = new Error('broken');
    await expect(
      collect(
        concat(
          of(message('a')),
          throwError(() => failure),
        ),
      ),
    ).rejects.toBe(failure);
  });

  it.each([
    [{ type: 'message', data: {} }, 'a `message` needs `data.content`, a string'],
    [
      { type: 'file', data: { name: 'a/b' } },
      '`data.name` of a `file` must not contain "/" or "\\": it is a label, not a path',
    ],
    [{ type: 'done', data: { status: 'completed' } }, 'the type `done` is reserved for the end of the run'],
  ])('refuses %j, as the service does', async (envelope, reason) => {
    await expect(collect(of(envelope))).rejects.toMatchObject({
      code: 'invalid_envelope',
      detail: `The agent emitted something that is not an envelope: ${reason}.`,
    });
  });
});

describe('ScriptedHandler', () => {
  const call = async (handler: ScriptedHandler, text: string, context?: QueryContext) =>
    collect(handler.handle(await queryOf(text), context ?? (await contextOf())));

  it('answers each query with its script', async () => {
    const handler = new ScriptedHandler([message('a'), log('b')]);
    for (const text of ['1', '2']) expect(await call(handler, text)).toEqual([message('a'), log('b')]);
    expect(handler.calls.map((each) => each.text)).toEqual(['1', '2']);
  });

  it('waits for the test, and tells what it was given', async () => {
    const handler = new ScriptedHandler();
    const answer = handler.handle(await queryOf('Hello', { a: 1 }), await contextOf({ owner: 'ada' }));
    const first = answer.next();
    const { query, context } = await handler.call(1);
    expect([query.kwargs, context.owner]).toEqual([{ a: 1 }, 'ada']);
    handler.calls[0]!.emit(message('a'));
    expect((await first).value).toEqual(message('a'));
    handler.calls[0]!.fail(new Error('broken'));
    await expect(answer.next()).rejects.toThrow('broken');
    await handler.calls[0]!.stopped;
  });

  it('finds the call for a text that comes later', async () => {
    const handler = new ScriptedHandler([]);
    const found = handler.callFor('second');
    await call(handler, 'first');
    await call(handler, 'second');
    expect(await found).toBe(handler.calls[1]);
  });

  it('stops when its signal is aborted, unless it ignores it', async () => {
    const context = await contextOf();
    const answering = call(new ScriptedHandler(), 'Hello', context);
    context.abort();
    expect(await answering).toEqual([]);

    const deaf = new ScriptedHandler(undefined, { ignoresSignal: true });
    const deafContext = await contextOf();
    const answer = call(deaf, 'Hello', deafContext);
    deafContext.abort();
    const { stopped } = await deaf.call(1);
    expect(await Promise.race([stopped.then(() => 'stopped'), pause(20, 'goes on')])).toBe('goes on');
    deaf.calls[0]!.finish();
    await answer;
  });
});

describe('TestClock', () => {
  it('stands still until the test moves it, and calls in the order of times', async () => {
    const clock = new TestClock();
    const called: string[] = [];
    clock.start('timeoutMs', 20, () => called.push(`timeout ${clock.now()}`));
    clock.start('graceMs', 10, () => {
      called.push(`grace ${clock.now()}`);
      clock.start('stopDeadlineMs', 5, () => called.push(`deadline ${clock.now()}`));
    });
    const repeated = clock.repeat('keepAliveMs', 8, () => called.push(`keep-alive ${clock.now()}`));
    expect(clock.left('graceMs')).toEqual([10]);
    await clock.advance(9);
    expect([called, clock.left('graceMs')]).toEqual([['keep-alive 8'], [1]]);
    await clock.advance(11);
    clock.stop(repeated);
    await clock.advance(100);
    expect(called).toEqual(['keep-alive 8', 'grace 10', 'deadline 15', 'keep-alive 16', 'timeout 20']);
    expect(clock.now()).toBe(120);
  });

  it('calls nothing that was stopped', async () => {
    const clock = new TestClock();
    clock.stop(undefined);
    clock.stop(clock.start('graceMs', 1, () => fail('It was stopped.')));
    await clock.advance(10);
    expect(clock.left('graceMs')).toEqual([]);
  });

  it('passes a time that is measured later', async () => {
    const clock = new TestClock();
    const passed = clock.pass('graceMs');
    let isOver = false;
    clock.start('timeoutMs', 1_000_000, () => fail('It is not the next.'));
    clock.start('graceMs', 30_000, () => (isOver = true));
    await passed;
    expect([isOver, clock.now()]).toEqual([true, 30_000]);
  });
});

function fail(message: string): never {
  throw new Error(message);
}
