import { randomUUID } from 'node:crypto';

/** `POST /v1/messages` of Anthropic. */
export const anthropic = {
  path: /\/v1\/messages$/,

  read({ messages, tools = [] }) {
    return {
      tools: tools.map(({ name, input_schema: schema }) => ({ name, schema })),
      messages: messages.flatMap(({ role, content }) =>
        (typeof content === 'string' ? [{ type: 'text', text: content }] : content).map((block) =>
          messageOf(role, block),
        ),
      ),
    };
  },

  writer() {
    let open;
    let index = -1;
    let calls = 0;
    const close = () => (open ? [event({ type: 'content_block_stop', index })] : []);
    const block = (kind, content_block) => {
      if (open === kind) return [];
      const closed = close();
      open = kind;
      index += 1;
      return [...closed, event({ type: 'content_block_start', index, content_block })];
    };
    const delta = (given) => event({ type: 'content_block_delta', index, delta: given });
    return {
      begin: () => [
        event({ type: 'message_start', message: { ...EMPTY, id: `msg_${randomUUID()}`, content: [] } }),
      ],
      thought: (thinking) => [
        ...block('thinking', { type: 'thinking', thinking: '', signature: '' }),
        delta({ type: 'thinking_delta', thinking }),
      ],
      text: (text) => [...block('text', { type: 'text', text: '' }), delta({ type: 'text_delta', text })],
      call({ id, name, arguments: given }) {
        calls += 1;
        const begun = block(id, { type: 'tool_use', id, name, input: {} });
        return [...begun, delta({ type: 'input_json_delta', partial_json: JSON.stringify(given) })];
      },
      end: () => [
        ...close(),
        event({
          type: 'message_delta',
          delta: { stop_reason: calls > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
          usage: { output_tokens: 7 },
        }),
        event({ type: 'message_stop' }),
      ],
      whole: (text) => ({ ...EMPTY, content: [{ type: 'text', text }], stop_reason: 'end_turn' }),
    };
  },

  failure: (code) => ({
    type: 'error',
    error: { type: code === 429 ? 'rate_limit_error' : 'api_error', message: `The model says ${code}.` },
  }),
};

const EMPTY = {
  ...{
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    stop_reason: null,
    stop_sequence: null,
  },
  usage: { input_tokens: 11, output_tokens: 1 },
};

const event = (data) => ({ name: data.type, data });

/** What Claude Code writes in the name of the person: around a prompt, and when it goes on with a call that has waited. */
const OWN_WORDS = /^(?:<system-reminder>|Continue from where you left off\.)/;

/** The agent's own words in a message of the person are those of nobody. */
function messageOf(role, { type, text = '', content }) {
  if (type === 'tool_result')
    return { role: 'tool', text: typeof content === 'string' ? content : JSON.stringify(content) };
  if (role === 'assistant') return { role, text };
  return { role: 'user', text: role === 'system' || OWN_WORDS.test(text.trim()) ? '' : text };
}
