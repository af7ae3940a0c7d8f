import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { eventsOf, type Reply, request } from '../../support/client.js';
import { CURSORS, messageOf, streamEventsOf } from '../a2a-host.js';
import type { ProtocolUnderTest } from './index.js';

const HEADERS = { 'a2a-version': '1.0', 'a2a-extensions': CURSORS };

/** With the extension, each event has the id of the task before the number. */
const runIdOf = (reply: Reply) => eventsOf(reply.text)[0]!.id!.split('.')[0]!;

const subscribe = (base: string, reply: Reply, events: number) => {
  const headers = { ...HEADERS, 'last-event-id': `${runIdOf(reply)}.${events}` };
  return request(base, { path: `/a2a/tasks/${runIdOf(reply)}:subscribe`, headers }, '');
};

/** With the extension by which its clients resume. */
export const a2a: ProtocolUnderTest = {
  name: 'A2A',
  module: () => A2aModule.forRoot(),
  submit: (base, text, { conversation, headers, members, parts = [] } = {}) => {
    const { message: own, ...others } = (members ?? {}) as { message?: object };
    const message = messageOf(text, {
      ...(conversation !== undefined && { contextId: conversation }),
      ...own,
      parts: [{ text }, ...parts],
    });
    const options = { path: '/a2a/message:stream', headers: { ...HEADERS, ...headers } };
    return request(base, options, JSON.stringify({ message, ...others }));
  },
  follow: (base, reply) => subscribe(base, reply, 0),
  resume: subscribe,
  typesOf: (stream) => streamEventsOf(stream).map((event) => Object.keys(event)[0]!),
  textOf: (stream) =>
    streamEventsOf(stream)
      .flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts ?? [])
      .map(({ text = '' }) => text)
      .join(''),
  runIdOf,
};
