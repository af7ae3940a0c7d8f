import { getEventListeners } from 'node:events';
import { AgentQueryClient, type AgentQueryClientOptions } from './index.js';
import { deferred } from '../../../test/support/conditions.js';
import {
  DONE,
  event,
  failureOf,
  LiteralService,
  type Respond,
} from '../../../test/support/literal-service.js';
import { QueryBody } from './query-body.js';

describe('The client, sending a body,', () => {
  let service: LiteralService | undefined;
  let client: AgentQueryClient;

  const start = async (responds: Respond[], options: AgentQueryClientOptions = {}) => {
    service = await LiteralService.start(responds);
    client = service.client(options);
  };
  afterEach(() => service?.stop());

  it('passes on what onUpload throws, without another try', async () => {
    await start([(request, response) => void request.resume().on('end', () => response.end())]);
    const fault = new Error('The bar is gone.');
    const onUpload = () => {
      throw fault;
    };
    expect(await failureOf(client.ask('x', { files: [new Uint8Array(9)], onUpload }))).toBe(fault);
  });

  it('waits for a slow upload, also for one that is repeated, and no longer once it is sent', async () => {
    let isSlow = false;
    /** A file on a slow disk: how much of a body a slow network holds differs from machine to machine. */
    class SlowFile extends Blob {
      override slice(): Blob {
        const arrayBuffer = async () => {
          if (isSlow) await new Promise((resolve) => setTimeout(resolve, 2000));
          return new ArrayBuffer(this.size / 2);
        };
        return Object.assign(new Blob([]), { arrayBuffer });
      }
    }
    const file = new SlowFile([new Uint8Array(2 * 3 * 128 * 1024)]);
    const refuse: Respond = (request, response) =>
      void request.resume().on('end', () => {
        isSlow = true;
        response.writeHead(503, { 'Retry-After': '0' }).end();
      });
    const accept: Respond = (request, response) =>
      void request.resume().on('end', () => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.end(event(1, 'done', DONE));
      });
    // The body takes longer than a connection may be silent, which is long for what this machine does at once.
    const idleTimeoutMs = 3000;
    await start([refuse, accept], { idleTimeoutMs, maxRetries: 1 });
    const silent = await LiteralService.start([(request) => void request.resume()]);
    const impatient = silent.client({ idleTimeoutMs, maxRetries: 0 });
    const [answer, failure] = await Promise.all([
      client.ask('x', { files: [file] }).text(),
      failureOf(impatient.ask('x', { files: [new Uint8Array(9)] })),
    ]);
    await silent.stop();
    expect(answer).toBe('');
    expect(failure).toMatchObject({ code: 'connection_lost' });
  });

  it('leaves nothing at the signal of the caller once the body was read, has failed or was left', async () => {
    const { signal } = new AbortController();
    async function* failing() {
      yield new Uint8Array(9);
      throw new Error('The disk is gone.');
    }
    for (const [how, content] of [
      ['read', new Uint8Array(9)],
      ['read', failing()],
      ['cancel', new Uint8Array(9)],
    ] as const) {
      const stream = (await new QueryBody('x', { files: [content] }).open(
        undefined,
        signal,
      )) as ReadableStream;
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      await (how === 'cancel' ? stream.cancel() : new Response(stream).text().catch(() => undefined));
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }
  });

  describe('of a file that can be read only once,', () => {
    const source = () => ReadableStream.from([new Uint8Array(3)]);

    it('tries again while nothing of it was read', async () => {
      await start([]);
      const baseUrl = 'http://127.0.0.1:1';
      const failure = await failureOf(
        new AgentQueryClient({ baseUrl, maxRetries: 0 }).ask('x', { files: [source()] }),
      );
      expect(failure).toMatchObject({ code: 'connection_lost' });
    });

    it('tells at once why the query was not admitted', async () => {
      await start([
        (request, response) => void request.resume().on('end', () => response.writeHead(503).end()),
      ]);
      let tries = 0;
      const onResume = () => void (tries += 1);
      expect(await failureOf(client.ask('x', { files: [source()], onResume }))).toMatchObject({
        code: 'body_not_repeatable',
        cause: { code: 'unavailable', status: 503 },
      });
      expect(tries).toBe(0);
    });

    it('reads no more of it when the answer is cancelled or left', async () => {
      await start([(request) => void request.resume()]);
      const chunk = new Uint8Array(1024);
      for (const leave of ['cancel', 'abort']) {
        const leaving = new AbortController();
        const { signal } = leaving;
        const begun = deferred();
        const ended = deferred();
        async function* endless() {
          try {
            for (;;) {
              yield chunk;
              begun.resolve();
              await new Promise((resolve) => setImmediate(resolve));
            }
          } finally {
            ended.resolve();
          }
        }
        const answer = client.ask('x', { files: [endless()], signal });
        await begun.promise;
        if (leave === 'cancel') await answer.cancel();
        else leaving.abort(new Error('enough'));
        await failureOf(answer);
        await ended.promise;
      }
    });

    it('cancels a stream that is silent when the answer is cancelled', async () => {
      await start([(request) => void request.resume()]);
      const { content, begun, ended } = silent();
      const answer = client.ask('x', { files: [content] });
      const failure = failureOf(answer);
      expect(await Promise.race([begun, failure])).toBeUndefined();
      await answer.cancel();
      expect(await failure).toMatchObject({ code: 'cancelled' });
      await ended;
    });

    it('cancels a stream that is silent when the connection is cut', async () => {
      const { content, begun, ended } = silent();
      await start([(request) => void begun.then(() => request.destroy())]);
      expect(await failureOf(client.ask('x', { files: [content] }))).toMatchObject({
        code: 'body_not_repeatable',
      });
      await ended;
    });
  });
});

/** A stream that has no chunk, and when it is first read and when it is cancelled. */
function silent() {
  const begun = deferred();
  const ended = deferred();
  const content = new ReadableStream<Uint8Array>(
    { pull: () => begun.resolve(), cancel: () => ended.resolve() },
    { highWaterMark: 0 },
  );
  return { content, begun: begun.promise, ended: ended.promise };
}
