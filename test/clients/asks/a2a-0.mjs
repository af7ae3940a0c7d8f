/** @a2a-js/sdk 0.3: `sendMessageStream` and `sendMessage`. */
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'a2a-js-sdk-0/client';

export default function create() {
  return {
    can: ['stream', 'files', 'sessions', 'whole', 'abort', 'questions', 'usage'],
    async ask({ url, key, text, session, files, whole, approve, signal, onText }) {
      const client = await new ClientFactory(optionsFor(key)).createFromUrl(url);
      const parts = [{ kind: 'text', text }, ...files.map(partOf)];
      const more = session && { contextId: session };
      if (whole) return textOf(await client.sendMessage(messageOf(parts, more), { signal }));
      const told = await streamed(client.sendMessageStream(messageOf(parts, more), { signal }), onText);
      if (!approve) return told;
      const answers = told.requests.map(({ id }) => ({ id, outcome: 'answered', value: { approved: true } }));
      const answer = messageOf([{ kind: 'data', data: { answers } }], { taskId: told.taskId });
      return streamed(client.sendMessageStream(answer, { signal }), onText);
    },
  };
}

/** The options of a factory whose requests have the key. */
export function optionsFor(key) {
  const fetchImpl = (input, init) =>
    fetch(input, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init?.headers)), authorization: `Bearer ${key}` },
    });
  return {
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  };
}

const partOf = ({ name, mimeType, base64 }) => ({ kind: 'file', file: { name, mimeType, bytes: base64 } });

function messageOf(parts, more) {
  return { message: { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts, ...more } };
}

async function streamed(stream, onText) {
  const told = { text: '', usage: undefined, taskId: undefined, requests: [] };
  let state;
  for await (const event of stream) {
    if (event.kind === 'task') told.taskId = event.id;
    if (event.kind === 'artifact-update') {
      const piece = textIn(event.artifact.parts);
      told.text += piece;
      onText(piece);
    }
    if (event.kind !== 'status-update') continue;
    const parts = event.status.message?.parts ?? [];
    ({ state } = event.status);
    if (state === 'failed') throw new Error(textIn(parts));
    for (const { data } of parts) {
      told.requests.push(...(data?.requests ?? []));
      if (data?.type === 'usage') told.usage = [data.data.inputTokens, data.data.outputTokens];
    }
  }
  if (state !== 'completed' && told.requests.length === 0)
    throw new Error('The stream has ended before the task.');
  return told;
}

function textOf({ status, artifacts = [] }) {
  if (status.state === 'failed') throw new Error(textIn(status.message.parts));
  return { text: artifacts.map(({ parts }) => textIn(parts)).join('') };
}

const textIn = (parts) => parts.map(({ text = '' }) => text).join('');
