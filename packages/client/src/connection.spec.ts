import { once } from 'node:events';
import { AgentQueryClient, type AgentQueryClientOptions } from './index.js';
import {
  DONE,
  event,
  failureOf,
  LiteralService,
  type Respond,
  stream,
} from '../../../test/support/literal-service.js';
import { endlessRefusal } from '../../../test/support/remote-service.js';

describe('The client, sending requests,', () => {
  let service: LiteralService;
  let client: AgentQueryClient;

  const start = async (responds: Respond[], options: AgentQueryClientOptions = {}) => {
    service = await LiteralService.start(responds);
    client = service.client(options);
  };
  afterEach(() => service.stop());

  it.each([
    ['nothing', ''],
    ['a page', '<html>'],
    ['a page after spaces', '\ufeff \n<!doctype html>'],
    ['control characters only', '\0\u001b\u202e\n'],
    ['JSON without a text', '{"message":{"a":1},"error":["b"]}'],
    ['JSON that is no object', '[1]'],
  ])('tells the status of a refusal that is not of the service, and has %s', async (_, body) => {
    await start([(_request, response) => response.writeHead(413).end(body)]);
    expect(await failureOf(client.ask('x'))).toMatchObject({
      code: 'refused',
      status: 413,
      message: 'The service answered 413, and gave no reason.',
    });
  });

  it.each([
    ['a text', 'log in first', 'log in first'],
    ['a text in several lines', ' log\r\n\tin \u001b[1mfirst\n', 'log in [1mfirst'],
    ['a text that is too long', '\u{1f600}'.repeat(201), '\u{1f600}'.repeat(200)],
    ['JSON with a message', '{"message":"log in first","error":"Unauthorized"}', 'log in first'],
    ['JSON with an error', '{"error":"log in first"}', 'log in first'],
    ['JSON with an error beside a list', '{"message":["a","b"],"error":"log in first"}', 'log in first'],
    ['a problem without a code', '{"title":"Unauthorized","detail":"log in first"}', 'log in first'],
  ])('tells the reason of a refusal that is not of the service: %s', async (_, body, reason) => {
    await start([(_request, response) => response.writeHead(401).end(body)]);
    const refusal = { code: 'refused', status: 401, message: `The service answered 401: ${reason}` };
    await expect(client.runs()).rejects.toMatchObject(refusal);
    expect(await failureOf(client.ask('x'))).toMatchObject(refusal);
  });

  it('reads the beginning of a refusal that never ends, and closes its connection', async () => {
    let closed!: Promise<unknown>;
    const refuse = endlessRefusal(400, 'x');
    const respond: Respond = (_request, response) => {
      closed = once(response, 'close');
      void refuse(response);
    };
    await start([respond]);
    expect(await failureOf(client.ask('x'))).toMatchObject({
      code: 'refused',
      status: 400,
      message: `The service answered 400: ${'x'.repeat(200)}`,
    });
    await closed;
  });

  it.each<[string, (client: AgentQueryClient) => Promise<unknown>]>([
    ['a query', (client) => client.ask('secret').text()],
    ['a query with a file', (client) => client.ask('secret', { files: [Buffer.from('secret')] }).text()],
    ['a run', (client) => client.follow('r').text()],
    ['a list', (client) => client.runs()],
    ['a file', (client) => client.file('r', 'f')],
  ])('sends nothing to another host where a request for %s is redirected', async (_, request) => {
    const other = await LiteralService.start([stream(event(1, 'done', DONE))]);
    const respond: Respond = ({ url }, response) =>
      response.writeHead(307, { Location: new URL(url!, other.url).href }).end();
    await start([respond], { headers: { 'X-Api-Key': 'secret' } });
    await expect(request(client)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining(' redirects'),
    });
    await other.stop();
    expect(other.requests).toEqual([]);
    expect(service.requests).toHaveLength(1);
  });

  it('takes no host that cannot be found for a redirect, whatever its name', async () => {
    const cause = new Error('getaddrinfo ENOTFOUND redirect.example');
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
    await start([], { fetch, maxRetries: 0 });
    await expect(client.runs()).rejects.toMatchObject({ code: 'connection_lost', cause: { cause } });
  });

  it('repeats a request for JSON that was cut, and sends headers that a function returns', async () => {
    const tokens: unknown[] = [];
    let count = 0;
    await start(
      [
        (_, response) => {
          response.writeHead(200, { 'Content-Length': 100 });
          response.write('{', () => response.destroy());
        },
        (request, response) => {
          tokens.push(request.headers.authorization);
          response.end('{"id":"r"}');
        },
      ],
      { headers: () => Promise.resolve({ Authorization: `Bearer ${++count}` }) },
    );
    expect(await client.run('r')).toEqual({ id: 'r' });
    expect(tokens).toEqual(['Bearer 2']);
  });

  it('gives up a request for JSON after as many repetitions as `maxRetries` says', async () => {
    await start([(_, response) => response.destroy()], { maxRetries: 1 });
    await expect(client.run('r')).rejects.toMatchObject({ code: 'connection_lost' });
    expect(service.requests).toHaveLength(2);
  });

  it('takes a session as erased when the response was lost and the repeated request finds no session', async () => {
    const refuse: Respond = (_, response) =>
      response.writeHead(404).end('{"code":"not_found","detail":"There is no such session."}');
    await start([(_, response) => response.destroy(), refuse]);
    expect(await client.erase('s')).toBeUndefined();
    await expect(client.erase('s')).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each(['', '.', '..'])('refuses the id %j, whose address would be another one', async (id) => {
    await start([(_, response) => response.end('{}')]);
    const fault = new TypeError(`${JSON.stringify(id)} is no id.`);
    await expect(client.run(id)).rejects.toEqual(fault);
    await expect(client.cancel(id)).rejects.toEqual(fault);
    await expect(client.session(id)).rejects.toEqual(fault);
    await expect(client.erase(id)).rejects.toEqual(fault);
    await expect(client.file('r', id)).rejects.toEqual(fault);
    expect(await failureOf(client.follow(id))).toEqual(fault);
    expect(service.requests).toEqual([]);
  });

  it('takes a session as erased only where the service says so', async () => {
    await start([(_, response) => response.end('<html>')]);
    await expect(client.erase('s')).rejects.toMatchObject({ code: 'invalid_response' });
  });

  it('joins the address and the path, wherever they have slashes', async () => {
    await start([(_, response) => response.end('{}')], { path: '/agents/query/' });
    await client.run('r');
    await new AgentQueryClient({ baseUrl: `${service.url}/`, path: '' }).run('r');
    expect(service.requests).toEqual([
      ['GET', '/agents/query/r'],
      ['GET', '/r'],
    ]);
  });

  describe('when something is silent,', () => {
    const silent = { idleTimeoutMs: 50, maxRetries: 0 };

    it('closes the connection of a stream that never begins', async () => {
      let closed!: Promise<unknown>;
      const respond: Respond = (_, response) => {
        closed = once(response, 'close');
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      };
      await start([respond], silent);
      expect(await failureOf(client.ask('x'))).toMatchObject({ code: 'connection_lost' });
      await closed;
    });

    it('does not wait for the rest of JSON', async () => {
      await start([(_, response) => void response.writeHead(202).write('{"id":')], silent);
      await expect(client.run('r')).rejects.toMatchObject({ code: 'connection_lost' });
      await expect(client.ask('x', { detached: true }).runId).rejects.toMatchObject({
        code: 'connection_lost',
      });
    });

    it.each([0, Infinity, 2 ** 31])('waits for ever with idleTimeoutMs %d', async (idleTimeoutMs) => {
      await start([stream(event(1, 'done', DONE))], { idleTimeoutMs });
      expect(await client.ask('x').text()).toBe('');
    });

    it('leaves headers that never come when the signal aborts', async () => {
      await start([], { headers: () => new Promise(() => undefined) });
      const leaving = new AbortController();
      const { signal } = leaving;
      const failures = Promise.all([
        failureOf(client.ask('x', { signal })),
        client.run('r', { signal }).catch((error: unknown) => error),
      ]);
      leaving.abort('enough');
      expect(await failures).toEqual(['enough', 'enough']);
    });
  });
});
