import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { eventsOf, get, request, type Reply } from '../../support/client.js';
import type { ProtocolUnderTest } from './index.js';

type Data = Record<string, unknown> & {
  object?: string;
  delta?: string;
  choices?: { delta: { content?: string } }[];
};

const eventsIn = (stream: string): Data[] =>
  eventsOf(stream)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Data);

const post = (base: string, path: string, body: object, headers = {}) =>
  request(base, { path: `/v1/${path}`, headers }, JSON.stringify({ ...body, stream: true }));

/** The id of the run, which is a part of every id of a response. */
const runIdOf = (reply: Reply): string => /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.exec(reply.text)![0];

/** The events of a response again. @param query what the URL has besides */
const retrieve = (base: string, reply: Reply, query = '') =>
  get(base, `/v1/responses/resp_${runIdOf(reply)}?stream=true${query}`);

/** The Responses API of OpenAI. */
export const responses: ProtocolUnderTest = {
  name: 'Responses',
  module: () => OpenAiModule.forRoot(),
  submit: (base, text, { conversation, headers, members, parts } = {}) => {
    const content = parts && [{ type: 'input_text', text }, ...parts];
    const input = content ? [{ role: 'user', content }] : text;
    return post(base, 'responses', { input, conversation, ...members }, headers);
  },
  follow: (base, reply) => retrieve(base, reply),
  resume: (base, reply, events) => retrieve(base, reply, events > 0 ? `&starting_after=${events - 1}` : ''),
  typesOf: (stream) => eventsIn(stream).map(({ type }) => type as string),
  textOf: (stream) =>
    eventsIn(stream)
      .filter(({ type }) => type === 'response.output_text.delta')
      .map(({ delta }) => delta)
      .join(''),
  runIdOf,
};

/** A chat is asked only what its client has a function for. */
const TOOLS = ['add', 'request_approval', 'request_user_input', 'request_sign_in'].map((name) => ({
  type: 'function',
  function: { name },
}));

/** Chat Completions of OpenAI. */
export const chatCompletions: ProtocolUnderTest = {
  name: 'Chat Completions',
  module: () => OpenAiModule.forRoot(),
  submit: (base, text, { headers, members, parts } = {}) => {
    const content = parts ? [{ type: 'text', text }, ...parts] : text;
    const body = { messages: [{ role: 'user', content }], tools: TOOLS, ...members };
    return post(base, 'chat/completions', body, headers);
  },
  typesOf: (stream) =>
    eventsOf(stream).map(({ data }) =>
      data === '[DONE]' ? data : ((JSON.parse(data) as Data).object ?? 'error'),
    ),
  textOf: (stream) =>
    eventsIn(stream)
      .map(({ choices }) => choices?.[0]?.delta.content ?? '')
      .join(''),
  runIdOf,
};
