import { responses } from './openai-responses.mjs';

/** `POST /v1/chat/completions` of OpenAI. */
export const chat = {
  path: /\/chat\/completions$/,

  read({ messages, tools = [] }) {
    return {
      tools: tools.map(({ function: { name, parameters } }) => ({ name, schema: parameters })),
      messages: messages.map(({ role, content }) => ({
        role: role === 'user' || role === 'tool' ? role : 'assistant',
        text: typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n'),
      })),
    };
  },

  writer() {
    let calls = 0;
    return {
      begin: () => [chunk({ role: 'assistant', content: '' })],
      thought: (piece) => [chunk({ reasoning_content: piece })],
      text: (piece) => [chunk({ content: piece })],
      call({ id, name, arguments: given }) {
        calls += 1;
        const called = { name, arguments: JSON.stringify(given) };
        return [chunk({ tool_calls: [{ index: calls - 1, id, type: 'function', function: called }] })];
      },
      end: () => [
        chunk({}, calls > 0 ? 'tool_calls' : 'stop', {
          usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
        }),
        { data: '[DONE]' },
      ],
      /** The answer to a request that wants no stream. */
      whole: (text) => ({
        ...{ id: 'chat_1', object: 'chat.completion', created: 1, model: 'scripted' },
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
      }),
    };
  },

  failure: responses.failure,
};

function chunk(delta, reason = null, others = {}) {
  const choices = [{ index: 0, delta, finish_reason: reason }];
  return {
    data: {
      id: 'chat_1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices,
      ...others,
    },
  };
}
