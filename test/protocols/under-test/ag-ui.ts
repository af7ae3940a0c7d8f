import { randomUUID } from 'node:crypto';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { eventsOf, get, type Reply, request } from '../../support/client.js';
import type { ProtocolUnderTest } from './index.js';

interface Event {
  type: string;
  runId: string;
  delta: string;
}

const eventsIn = (stream: string) => eventsOf(stream).map(({ data }) => JSON.parse(data) as Event);
const runIdOf = ({ headers }: Reply) => headers['x-run-id'] as string;
/** The run as the client has named it. */
const nameOf = (reply: Reply) => eventsIn(reply.text)[0]!.runId;
const follow = (base: string, reply: Reply) => get(base, `/ag-ui?runId=${nameOf(reply)}&offset=-1`);

/** As TanStack AI's client uses it, which resumes by itself. */
export const agUi: ProtocolUnderTest = {
  name: 'AG-UI',
  module: () => AgUiModule.forRoot(),
  submit: (base, text, { conversation = randomUUID(), headers, members, parts } = {}) => {
    const content = parts ? [{ type: 'text', text }, ...parts] : text;
    const messages = [{ id: randomUUID(), role: 'user', content }];
    const input = { threadId: conversation, runId: randomUUID(), messages, ...members };
    return request(base, { path: '/ag-ui', headers: { ...headers } }, JSON.stringify(input));
  },
  follow,
  resume: (base, reply, events) => {
    if (events === 0) return follow(base, reply);
    const headers = { 'last-event-id': `${runIdOf(reply)}.${events - 1}`, 'x-run-id': nameOf(reply) };
    return request(base, { path: '/ag-ui', headers }, '{}');
  },
  typesOf: (stream) => eventsIn(stream).map(({ type }) => type),
  textOf: (stream) => {
    const texts = eventsIn(stream).filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT');
    return texts.map(({ delta }) => delta).join('');
  },
  runIdOf,
};
