import type { Endpoint } from '../state/endpoints.js';
import type { Exchange, SentQuery } from '../state/wire.js';

/** A request as a program with the typed client. */
export function asClientCode(exchange: Exchange, { baseUrl, path }: Endpoint): string {
  const hasKey = exchange.headers.some(([name]) => name.toLowerCase() === 'authorization');
  const options = {
    baseUrl,
    ...(path !== 'query' && { path }),
    ...(hasKey && { headers: { Authorization: 'Bearer <key>' } }),
  };
  return [
    "import { AgentQueryClient } from 'nest-agent-query-client';",
    '',
    `const client = new AgentQueryClient(${literal(options)});`,
    ...callOf(exchange, `${baseUrl}/${path}`),
  ].join('\n');
}

function callOf({ method, url, headers, body, query }: Exchange, endpoint: string): string[] {
  const { pathname, searchParams } = new URL(url, endpoint);
  const below = pathname.slice(new URL(endpoint).pathname.length).split('/').slice(1).map(decodeURIComponent);
  const [first, second, third] = below;
  const parameters = Object.fromEntries(
    [...searchParams].map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]),
  );
  const options = Object.keys(parameters).length === 0 ? '' : literal(parameters);
  const also = options === '' ? '' : `, ${options}`;
  if (method === 'POST' && second === 'inputs') {
    const { answers } = JSON.parse(body ?? '{}') as { answers?: unknown };
    return [`console.log(await client.answer(${literal(first)}, ${literal(answers)}));`];
  }
  if (method === 'POST') return iterated(askOf(query ?? sentQuery(body ?? '{}')));
  if (first === undefined) return [`console.log(await client.runs(${options}));`];
  if (first === 'inputs') return [`console.log(await client.openInputs(${options}));`];
  if (first === 'sessions') {
    if (second === undefined) return [`console.log(await client.sessions(${options}));`];
    if (method === 'DELETE') return [`await client.erase(${literal(second)});`];
    return [`console.log(await client.session(${literal(second)}${also}));`];
  }
  if (method === 'DELETE') return [`console.log(await client.cancel(${literal(first)}));`];
  if (second === 'files')
    return [
      `const response = await client.file(${literal(first)}, ${literal(third)});`,
      'console.log(await response.text());',
    ];
  const valueOf = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';
  if (!valueOf('accept').includes('event-stream'))
    return [`console.log(await client.run(${literal(first)}));`];
  const after = /\.(\d+)$/.exec(valueOf('last-event-id'))?.[1];
  return iterated(`client.follow(${literal(first)}${after ? `, ${after}` : ''})`);
}

function iterated(answer: string): string[] {
  return [`for await (const { type, data } of ${answer}) console.log(type, data);`];
}

function askOf({ text, files, kwargs }: SentQuery): string {
  const { session_id: sessionId, ...others } = kwargs;
  const options = {
    ...(files.length > 0 && { files: files.map(({ name }) => name) }),
    ...(Object.keys(others).length > 0 && { kwargs: others }),
    ...(sessionId !== undefined && { sessionId }),
  };
  const more = Object.keys(options).length === 0 ? '' : `, ${literal(options)}`;
  return `client.ask(${text === '' ? '[]' : literal(text)}${more})`;
}

function sentQuery(body: string): SentQuery {
  const { parts = [], kwargs = {} } = JSON.parse(body) as {
    parts?: { text?: string }[];
    kwargs?: Record<string, unknown>;
  };
  return { text: parts.flatMap(({ text }) => text ?? []).join('\n\n'), files: [], kwargs };
}

/** A value as JavaScript: the names of members need no quotes where they are identifiers. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, each]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: ${literal(each)}`,
  );
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
