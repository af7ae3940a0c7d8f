import { responsesContent } from './contents.mjs';

/** Asks by Responses, and approves what is asked. */
export async function ask(client, { text, second, files, whole, approve, onText }, options) {
  const body = { model: 'agent', input: [{ role: 'user', content: responsesContent(text, files) }] };
  if (whole) return wholeOf(await client.responses.create(body, options));
  const told = await streamed(client, body, options, onText);
  const more = { model: 'agent', previous_response_id: told.response.id };
  if (second) return streamed(client, { ...more, input: second }, { signal: options.signal }, onText);
  if (!approve) return told;
  const input = told.response.output
    .filter(({ type }) => type === 'mcp_approval_request')
    .map(({ id }) => ({ type: 'mcp_approval_response', approval_request_id: id, approve: true }));
  return streamed(client, { ...more, input }, { signal: options.signal }, onText);
}

async function streamed(client, body, options, onText) {
  const stream = await client.responses.create({ ...body, stream: true }, options);
  const told = { text: '', usage: undefined, response: undefined };
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') {
      told.text += event.delta;
      onText(event.delta);
    }
    if (event.type === 'response.failed') throw new Error(event.response.error.message);
    if (event.type === 'response.completed') {
      told.response = event.response;
      told.usage = usageOf(event.response.usage);
    }
  }
  return told;
}

function wholeOf(response) {
  if (response.error) throw new Error(response.error.message);
  return { text: response.output_text, usage: usageOf(response.usage) };
}

const usageOf = (usage) => usage && [usage.input_tokens, usage.output_tokens];
