/** `POST /v1/responses` of OpenAI. */
export const responses = {
  path: /\/responses$/,

  read({ input, tools = [] }) {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    return {
      tools: tools
        .filter(({ type }) => type === 'function')
        .map(({ name, parameters }) => ({ name, schema: parameters })),
      messages: items.flatMap((item) => {
        if (item.type === 'function_call_output') return [{ role: 'tool', text: textOf(item.output) }];
        if (!item.role) return [];
        return [{ role: item.role === 'user' ? 'user' : 'assistant', text: textOf(item.content) }];
      }),
    };
  },

  writer() {
    const response = {
      id: 'resp_1',
      object: 'response',
      model: 'scripted',
      status: 'in_progress',
      output: [],
    };
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' };
    let text = '';
    let thought = '';
    const thoughts = { type: 'reasoning', id: 'rs_1', summary: [] };
    return {
      begin: () => [event({ type: 'response.created', response })],
      thought(piece) {
        const opened =
          thought === ''
            ? [event({ type: 'response.output_item.added', output_index: 0, item: thoughts })]
            : [];
        thought += piece;
        return [
          ...opened,
          event({
            type: 'response.reasoning_summary_text.delta',
            item_id: 'rs_1',
            summary_index: 0,
            delta: piece,
          }),
        ];
      },
      text(piece) {
        const item = { ...message, status: 'in_progress', content: [] };
        const opened =
          text === '' ? [event({ type: 'response.output_item.added', output_index: 1, item })] : [];
        text += piece;
        return [
          ...opened,
          event({
            type: 'response.output_text.delta',
            item_id: 'msg_1',
            output_index: 1,
            content_index: 0,
            delta: piece,
          }),
        ];
      },
      call: ({ id, name, arguments: given }) => [
        event({
          type: 'response.output_item.done',
          item: {
            type: 'function_call',
            id: `fc_${id}`,
            call_id: id,
            name,
            arguments: JSON.stringify(given),
          },
        }),
      ],
      end() {
        const content = [{ type: 'output_text', text, annotations: [] }];
        const usage = {
          ...{ input_tokens: 11, input_tokens_details: { cached_tokens: 0 } },
          ...{ output_tokens: 7, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 18 },
        };
        return [
          ...(thought === ''
            ? []
            : [done({ ...thoughts, summary: [{ type: 'summary_text', text: thought }] })]),
          ...(text === '' ? [] : [done({ ...message, content })]),
          event({ type: 'response.completed', response: { ...response, status: 'completed', usage } }),
        ];
      },
    };
  },

  failure: (code) => ({
    error: { message: `The model says ${code}.`, type: 'scripted', code: `scripted_${code}` },
  }),
};

const done = (item) => event({ type: 'response.output_item.done', item });
const event = (data) => ({ name: data.type, data });

function textOf(content) {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n');
}
