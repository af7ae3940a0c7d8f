/** @a2a-js/sdk 1: `sendMessageStream` and `sendMessage`. */
import { SendMessageRequest, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';

const TRANSPORTS = { 'json-rpc': JsonRpcTransportFactory, rest: RestTransportFactory };

const { TASK_STATE_FAILED: FAILED, TASK_STATE_COMPLETED: COMPLETED } = TaskState;

export default function create({ transport }) {
  return {
    can: ['stream', 'files', 'sessions', 'whole', 'abort', 'questions', 'usage'],
    async ask({ url, key, text, session, files, whole, approve, signal, onText }) {
      const fetchImpl = (input, init) =>
        fetch(input, {
          ...init,
          headers: { ...Object.fromEntries(new Headers(init?.headers)), authorization: `Bearer ${key}` },
        });
      const client = await new ClientFactory({
        transports: [new TRANSPORTS[transport]({ fetchImpl })],
        cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
      }).createFromUrl(url);
      const parts = [{ text }, ...files.map(partOf)];
      const more = session && { contextId: session };
      if (whole) return textOf(await client.sendMessage(messageOf(parts, more), { signal }));
      const told = await streamed(client.sendMessageStream(messageOf(parts, more), { signal }), onText);
      if (!approve) return told;
      const answers = told.requests.map(({ id }) => ({ id, outcome: 'answered', value: { approved: true } }));
      const answer = messageOf([{ data: { answers } }], { taskId: told.taskId });
      return streamed(client.sendMessageStream(answer, { signal }), onText);
    },
  };
}

const partOf = ({ name, mimeType, base64 }) => ({ raw: base64, filename: name, mediaType: mimeType });

function messageOf(parts, more) {
  return SendMessageRequest.fromJSON({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...more },
  });
}

async function streamed(stream, onText) {
  const told = { text: '', usage: undefined, taskId: undefined, requests: [] };
  let state;
  for await (const { payload } of stream) {
    if (payload.$case === 'task') told.taskId = payload.value.id;
    if (payload.$case === 'artifactUpdate') {
      const piece = textIn(payload.value.artifact.parts);
      told.text += piece;
      onText(piece);
    }
    if (payload.$case !== 'statusUpdate') continue;
    const { status } = payload.value;
    const parts = status.message?.parts ?? [];
    state = status.state;
    if (state === FAILED) throw new Error(textIn(parts));
    for (const { content } of parts) {
      if (content?.$case !== 'data') continue;
      told.requests.push(...(content.value.requests ?? []));
      const { type, data } = content.value;
      if (type === 'usage') told.usage = [data.inputTokens, data.outputTokens];
    }
  }
  if (state !== COMPLETED && told.requests.length === 0)
    throw new Error('The stream has ended before the task.');
  return told;
}

function textOf({ status, artifacts }) {
  if (status.state === FAILED) throw new Error(textIn(status.message.parts));
  return { text: artifacts.map(({ parts }) => textIn(parts)).join('') };
}

const textIn = (parts) =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
