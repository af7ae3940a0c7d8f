import { chatContent } from './contents.mjs';

const APPROVAL = { type: 'function', function: { name: 'request_approval', parameters: {} } };

/** Asks by Chat Completions, and approves what is asked. */
export async function ask(client, { text, second, files, whole, approve, onText }, options) {
  const messages = [{ role: 'user', content: chatContent(text, files) }];
  const body = { model: 'agent', messages, ...(approve && { tools: [APPROVAL] }) };
  if (whole) return wholeOf(await client.chat.completions.create(body, options));
  const told = await streamed(client, body, options, onText);
  if (second) {
    messages.push({ role: 'assistant', content: told.text }, { role: 'user', content: second });
    return streamed(client, body, { signal: options.signal }, onText);
  }
  if (!approve) return told;
  const { calls } = told;
  messages.push({ role: 'assistant', content: null, tool_calls: calls });
  for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: '{"approved":true}' });
  return streamed(client, body, { signal: options.signal }, onText);
}

async function streamed(client, body, options, onText) {
  const stream = await client.chat.completions.create(
    { ...body, stream: true, stream_options: { include_usage: true } },
    options,
  );
  const told = { text: '', usage: undefined, calls: [] };
  for await (const chunk of stream) {
    const { content, tool_calls: calls = [] } = chunk.choices[0]?.delta ?? {};
    if (content) onText(content);
    told.text += content ?? '';
    told.calls.push(...calls.map(({ id, type, function: called }) => ({ id, type, function: called })));
    if (chunk.usage) told.usage = usageOf(chunk.usage);
  }
  return told;
}

const wholeOf = ({ choices, usage }) => ({ text: choices[0].message.content, usage: usageOf(usage) });

const usageOf = (usage) => usage && [usage.prompt_tokens, usage.completion_tokens];
