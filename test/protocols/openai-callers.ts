import { type HandlerFunction, message, usage } from '../../src/index.js';
import { dataOf, post } from './openai-host.js';

/** What an agent got. */
export interface Told {
  texts: string[];
  files: [string, string, number][];
  history: string[][];
  kwargs: Record<string, unknown>;
}

/** Tells what reaches an agent. A text `run` has the client execute a command. */
export const tells: HandlerFunction = async function* ({ parts, kwargs }, context) {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (texts.at(-1) === 'run') {
    const call = { name: 'exec_command', arguments: { cmd: 'ls' } };
    const [answer] = await context.ask([{ key: 'c', kind: 'tool', message: 'Execute it.', ...call }]);
    yield message(JSON.stringify(answer));
    return;
  }
  const files = parts.flatMap((part) =>
    part.type === 'file' ? [[part.name, part.mimeType, part.file.size]] : [],
  );
  const history = context.history.map((turn) => [
    ...turn.parts.map((part) => (part.type === 'text' ? part.text : part.name)),
    turn.text,
  ]);
  yield message(JSON.stringify({ texts, files, history, kwargs }));
  yield usage({ inputTokens: 3, outputTokens: 2 });
};

/** What the agent got of a chat, whose answer the program reads as a stream. */
export async function chatted(url: string, body: object, headers: object = {}): Promise<Told> {
  const reply = await post(url, 'chat/completions', { model: 'agent', stream: true, ...body }, headers);
  expect(reply.status).toBe(200);
  const chunks = dataOf(await reply.whole()) as unknown as { choices: { delta: { content?: string } }[] }[];
  const texts = chunks.map(({ choices }) => choices[0]?.delta.content ?? '');
  return JSON.parse(texts.join('')) as Told;
}

export interface Event {
  type: string;
  delta: string;
  response: { output: Record<string, string>[] };
}

/** The events of a response. */
export async function responded(url: string, body: object, headers: object = {}): Promise<Event[]> {
  const reply = await post(url, 'responses', { model: 'agent', ...body }, headers);
  expect(reply.status).toBe(200);
  return dataOf(await reply.whole()) as unknown as Event[];
}

/** What the agent got, which it has told in the text of a response. */
export const toldIn = (events: Event[]): Told =>
  JSON.parse(events.map(({ type, delta }) => (type.endsWith('text.delta') ? delta : '')).join('')) as Told;
