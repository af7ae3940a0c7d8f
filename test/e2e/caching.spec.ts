import { createHash } from 'node:crypto';
import { promise } from '../promises.js';
import { get, request } from '../support/client.js';
import { serve } from '../support/service.js';

const KEY = 'a-key-of-this-test';
const HEADERS = { authorization: `Bearer ${KEY}`, 'a2a-version': '1.0' };
const PUBLIC = ['/', '/assets/:name', '/.well-known/agent-card.json'];

const digestOf = (content: string) => createHash('sha256').update(content).digest('hex');

it(promise('service.caching'), async () => {
  const service = await serve({ AGENT: 'echo', API_KEYS: `ann:${digestOf(KEY)}` });
  const base64 = Buffer.from('A file').toString('base64');
  const parts = [{ type: 'file', name: 'a.txt', mimeType: 'text/plain', base64 }];
  const body = JSON.stringify({ parts, kwargs: { session_id: 's' } });
  const asked = await request(service.url, { path: '/query', headers: HEADERS }, body);
  await asked.whole();
  const page = await (await get(service.url, '/')).whole();
  const values: Record<string, string> = {
    name: /assets\/([^"]+)"/.exec(page)![1]!,
    runId: asked.runId,
    sessionId: 's',
    sha256: digestOf('A file'),
    id: `resp_${asked.runId}`,
    task: asked.runId,
  };
  const cachings = new Map<string, string | undefined>();
  for (const route of service.routes!.filter((each) => each.startsWith('GET '))) {
    const path = route.slice('GET '.length);
    const reply = await get(
      service.url,
      path.replace(/:(\w+)/g, (_, name: string) => values[name]!),
      HEADERS,
    );
    if (reply.status === 200) cachings.set(path, reply.headers['cache-control']);
    reply.cut();
  }
  const wrong = [...cachings].filter(([path, caching = 'absent']) =>
    PUBLIC.includes(path) ? caching === 'absent' : !/\b(?:no-store|private)\b/.test(caching),
  );
  expect(wrong).toEqual([]);
  expect([...cachings.keys()]).toEqual(
    expect.arrayContaining([
      ...['/health/live', '/health/ready', '/version', '/openapi.json', '/metrics', ...PUBLIC],
      ...['/query', '/query/sessions', '/query/inputs', '/query/usage', '/query/:runId'],
      ...['/query/:runId/inputs', '/query/:runId/deliveries', '/query/:runId/files/:sha256'],
      ...['/query/sessions/:sessionId', '/query/diagnostic', '/v1/models', '/v1/responses/:id'],
      ...['/a2a/tasks', '/a2a/tasks/:task'],
    ]),
  );
  await service.stop();
});
