/** `models/<name>:streamGenerateContent` of Gemini. */
export const gemini = {
  path: /:(?:streamG|g)enerateContent$/,

  read({ contents = [], tools = [] }) {
    return {
      tools: tools
        .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
        .map(({ name, parametersJsonSchema, parameters }) => ({
          name,
          schema: parametersJsonSchema ?? parameters,
        })),
      messages: contents.flatMap(({ role, parts = [] }) =>
        parts.map(({ text = '', functionResponse }) =>
          functionResponse
            ? { role: 'tool', text: JSON.stringify(functionResponse.response) }
            : { role: role === 'model' ? 'assistant' : 'user', text },
        ),
      ),
    };
  },

  writer: () => ({
    begin: () => [],
    thought: (text) => [chunk([{ text, thought: true }])],
    text: (text) => [chunk([{ text }])],
    call: ({ id, name, arguments: args }) => [chunk([{ functionCall: { id, name, args } }])],
    end: () => [chunk([{ text: '' }], USAGE)],
    whole: (text) => chunk([{ text }], USAGE).data,
  }),

  failure: (code) => ({
    error: { code, message: `The model says ${code}.`, status: STATUS[code] ?? 'INTERNAL' },
  }),
};

const STATUS = { 400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 429: 'RESOURCE_EXHAUSTED' };

const USAGE = { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 };

function chunk(parts, usageMetadata) {
  const end = usageMetadata ? { finishReason: 'STOP' } : {};
  return { data: { candidates: [{ index: 0, content: { role: 'model', parts }, ...end }], usageMetadata } };
}
