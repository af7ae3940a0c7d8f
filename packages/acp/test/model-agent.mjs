/**
 * An agent that speaks ACP, and whose model is a fake one of the test: it asks a port on loopback for each act of the
 * model, and for the result of each tool. It shows its model the whole conversation, which it keeps in `$HOME`.
 *
 * `MODEL_PORT` is the port, `TOOLS` a list of `{ name, needsApproval }` in JSON.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connection } from './agent/connection.mjs';
import { Model } from './model/client.mjs';

const TOOLS = JSON.parse(process.env.TOOLS);
const ONCE = { optionId: 'yes', name: 'Yes', kind: 'allow_once' };
const REJECT = { optionId: 'no', name: 'No', kind: 'reject_once' };

const model = await Model.connected(Number(process.env.MODEL_PORT));
const wire = connection(process.stdin, process.stdout);
const fileOf = (id) => join(process.env.HOME, `${basename(id)}.json`);
let stop = new AbortController();

wire.on('initialize', () => ({
  protocolVersion: 1,
  agentCapabilities: {
    promptCapabilities: { image: true, embeddedContext: true },
    sessionCapabilities: { resume: {} },
  },
}));

wire.on('session/new', () => {
  const sessionId = randomUUID();
  writeFileSync(fileOf(sessionId), '[]');
  return { sessionId };
});

wire.on('session/resume', ({ sessionId }) => {
  if (!existsSync(fileOf(sessionId))) throw wire.error(-32002, 'Resource not found');
  return {};
});

wire.on('session/cancel', () => {
  stop.abort();
  model.abort();
});

wire.on('session/prompt', async ({ sessionId, prompt }) => {
  stop = new AbortController();
  const messages = JSON.parse(readFileSync(fileOf(sessionId), 'utf8'));
  messages.push({ role: 'user', ...contentOf(prompt), calls: [], results: [] });
  try {
    return await new Answer(sessionId, messages).made();
  } catch (error) {
    if (stop.signal.aborted) return { stopReason: 'cancelled' };
    throw wire.error(-32603, 'Internal error', { details: error.message });
  } finally {
    writeFileSync(fileOf(sessionId), JSON.stringify(messages));
  }
});

/** The texts and files of a prompt. */
function contentOf(prompt) {
  const content = { text: '', files: [] };
  for (const block of prompt)
    if (block.type === 'text') content.text += block.text;
    else if (block.type === 'image') content.files.push({ mimeType: block.mimeType, base64: block.data });
    else if (block.resource?.blob !== undefined)
      content.files.push({ mimeType: block.resource.mimeType, base64: block.resource.blob });
    else if (block.type === 'resource_link') {
      const bytes = readFileSync(fileURLToPath(block.uri));
      content.files.push({ mimeType: block.mimeType, base64: bytes.toString('base64') });
    }
  return content;
}

/** The answer to one prompt: steps of the model, until one has no calls. */
class Answer {
  constructor(sessionId, messages) {
    this.sessionId = sessionId;
    this.messages = messages;
  }

  async made() {
    for (;;) {
      const { calls, usage } = await this.#step();
      if (calls.length === 0) {
        const { inputTokens, outputTokens } = usage;
        return {
          stopReason: 'end_turn',
          usage: {
            ...usage,
            totalTokens: inputTokens + outputTokens,
          },
        };
      }
      this.messages.push({
        role: 'tool',
        text: '',
        files: [],
        calls: [],
        results: await this.#results(calls),
      });
    }
  }

  async #step() {
    const said = { role: 'assistant', text: '', files: [], calls: [], results: [] };
    let usage = { inputTokens: 0, outputTokens: 0 };
    await model.ask({ messages: this.messages, tools: TOOLS.map(({ name }) => name) });
    this.messages.push(said);
    for (let act = await model.next(); act; act = await model.next()) {
      if (act.type === 'end') usage = act.usage;
      else if (act.type === 'call') said.calls.push({ id: act.id, name: act.name, arguments: act.arguments });
      else this.#tell(act, said);
    }
    return { calls: said.calls, usage };
  }

  #tell(act, said) {
    if (act.type === 'text') said.text += act.text;
    const update = {
      text: () => chunk('agent_message_chunk', { type: 'text', text: act.text }),
      reasoning: () => ({
        ...chunk('agent_thought_chunk', { type: 'text', text: act.text }),
        messageId: `thought-${this.messages.length}`,
      }),
      source: () => chunk('agent_message_chunk', { type: 'resource_link', uri: act.url, name: act.title }),
      file: () => chunk('agent_message_chunk', { type: 'image', mimeType: act.mimeType, data: act.base64 }),
      callBegin: () => ({
        sessionUpdate: 'tool_call',
        toolCallId: act.id,
        name: act.name,
        status: 'pending',
        rawInput: {},
      }),
    }[act.type]();
    this.#update(update);
  }

  /** All calls of a step are asked about at once, and those without a question are executed meanwhile. */
  #results(calls) {
    return Promise.all(calls.map((call) => this.#result(call)));
  }

  async #result({ id, name, arguments: rawInput }) {
    const call = { toolCallId: id, name, rawInput };
    this.#update({ sessionUpdate: 'tool_call', ...call, status: 'pending' });
    if (!(await this.#isAllowed(call))) {
      const text = 'The user has rejected the call.';
      this.#update({
        sessionUpdate: 'tool_call_update',
        toolCallId: id,
        status: 'failed',
        content: [{ type: 'content', content: { type: 'text', text } }],
      });
      return { id, content: text };
    }
    this.#update({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' });
    const { result, error } = await model.execute(name, rawInput);
    const text = error ?? (typeof result === 'string' ? result : JSON.stringify(result));
    this.#update({
      sessionUpdate: 'tool_call_update',
      toolCallId: id,
      status: error === undefined ? 'completed' : 'failed',
      content: [{ type: 'content', content: { type: 'text', text } }],
      ...(error === undefined && { rawOutput: result }),
    });
    return { id, content: text };
  }

  async #isAllowed(toolCall) {
    if (!TOOLS.find(({ name }) => name === toolCall.name)?.needsApproval) return true;
    const params = { sessionId: this.sessionId, toolCall, options: [ONCE, REJECT] };
    const { result } = await wire.request('session/request_permission', params);
    return result?.outcome.optionId === ONCE.optionId;
  }

  #update(update) {
    wire.notify('session/update', { sessionId: this.sessionId, update });
  }
}

const chunk = (sessionUpdate, content) => ({ sessionUpdate, content });
