import { join } from 'node:path';
import { Module } from '@nestjs/common';
import {
  type HandlerFunction,
  message,
  QueryModule,
  reasoning,
  source,
  toolCall,
  toolResult,
  usage,
} from 'nest-agent-query';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import ts from 'typescript';
import { eventsOf } from '../../../test/support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../../../test/support/host.js';

/** Does what a text says. */
const agent: HandlerFunction = async function* ({ parts }, context) {
  const [part] = parts;
  const text = part?.type === 'text' ? part.text : '';
  if (text === 'fail') throw new Error('secret');
  if (text === 'approve') await context.ask([{ ...ASKED, key: 'a', kind: 'approval', toolCallId: 'c' }]);
  if (text === 'ask') await context.ask([{ ...ASKED, key: 't', kind: 'tool' }]);
  yield reasoning('Hm.');
  yield toolCall('1', 'look', { at: 'a' });
  yield toolResult('1', { found: 1 });
  yield toolCall('2', 'look', {});
  yield toolResult('2', 'Nothing.', { isError: true });
  yield toolCall('3', 'look', {});
  yield message('It is ');
  yield source('https://a.example/', { title: 'A' });
  yield message('here.');
  yield usage({ inputTokens: 3, outputTokens: 2, model: 'm' });
};
const ASKED = { message: 'May I?', name: 'pay', arguments: { sum: 1 } } as const;

/** JSON as the type of exactly this value. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(typeOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${typeOf(each)}`);
  return `{ ${members.join('; ')} }`;
}

/**
 * Without what the declarations have otherwise. As OpenAI sends it, `usage` is null where there is none. The code of a failure is one of
 * this service. The declarations do not know the annotations of a chunk.
 */
function withoutOwn(json: string): unknown {
  return JSON.parse(json, (name, value: unknown) => {
    if (name === 'usage' && value === null) return undefined;
    if (name === 'delta' && Object.hasOwn(Object(value) as object, 'annotations')) return {};
    return name === 'code' && value === 'handler_failed' ? 'server_error' : value;
  });
}

/** Readers in strict languages refuse an object that lacks a member. The declarations of the official client say which ones there are. */
describeOnOneAdapter('An object for clients of OpenAI on %s', (adapter) => {
  let host: Host;
  const lines: string[] = [];
  const take = (type: string, json: string) => {
    const value = typeOf(withoutOwn(json));
    lines.push(
      `declare const v${lines.length}: ${value}; export const c${lines.length}: ${type} = v${lines.length};`,
    );
  };

  const send = async (method: string, path: string, body?: object): Promise<string> => {
    const sent = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return (await fetch(`${host.url}/v1/${path}`, { method, ...sent })).text();
  };

  beforeAll(async () => {
    @Module({ imports: [QueryModule.forRoot({ handler: agent }), OpenAiModule.forRoot()] })
    class AppModule {}
    host = await startHost(adapter, AppModule);
  });
  afterAll(() => host.close());

  it('has each member that the official client declares, with a value that it declares', async () => {
    const tools = [{ type: 'function', function: { name: 'pay' } }];
    let last = { id: '', output: [{}] as Record<string, string>[] };
    for (const text of ['Hi', 'fail', 'approve', 'ask']) {
      const json = await send('POST', 'responses', { input: text });
      last = JSON.parse(json) as typeof last;
      take('Response', json);
      take('Response', await send('GET', `responses/${last.id}`));
      take('List<OpenAI.Responses.ResponseItem>', await send('GET', `responses/${last.id}/input_items`));
      const stream = await send('POST', 'responses', { input: text, stream: true });
      for (const { data } of eventsOf(stream)) take('Event', data);
      const chat = { messages: [{ role: 'user', content: text }], tools };
      if (text === 'fail' || text === 'approve') continue;
      take('Completion', await send('POST', 'chat/completions', chat));
      const options = { stream: true, stream_options: { include_usage: true } };
      const chunks = eventsOf(await send('POST', 'chat/completions', { ...chat, ...options })).slice(0, -1);
      for (const { data } of chunks) take('Chunk', data);
    }
    const output = { type: 'function_call_output', call_id: last.output[0]!['call_id'], output: 'x' };
    take('Response', await send('POST', 'responses', { input: [output] }));
    const conversation = await send('POST', 'conversations', {});
    take('OpenAI.Conversations.Conversation', conversation);
    const { id } = JSON.parse(conversation) as { id: string };
    await send('POST', 'responses', { conversation: id, input: 'Hi' });
    take('List<OpenAI.Conversations.ConversationItem>', await send('GET', `conversations/${id}/items`));
    take('OpenAI.Conversations.ConversationDeletedResource', await send('DELETE', `conversations/${id}`));
    take('OpenAI.Model', await send('GET', 'models/agent'));
    const background = await send('POST', 'responses', { input: 'ask', background: true });
    take('Response', background);
    const path = `responses/${(JSON.parse(background) as { id: string }).id}/cancel`;
    take('Response', await send('POST', path));
    expect(faultsOf(lines)).toEqual([]);
  });
});

/** What the client adds to a response, `output_text`, is not sent. */
const DECLARATIONS = `
import type OpenAI from 'openai';
type Response = Omit<OpenAI.Responses.Response, 'output_text'>;
type Sent<Event> = Event extends { response: OpenAI.Responses.Response }
  ? Omit<Event, 'response'> & { response: Response } : Event;
type Event = Sent<OpenAI.Responses.ResponseStreamEvent>;
interface List<Item> { object: 'list'; data: Item[]; has_more: boolean; first_id: string; last_id: string }
type Completion = OpenAI.ChatCompletion;
type Chunk = OpenAI.ChatCompletionChunk;
`;

/** What the compiler says of a program. */
function faultsOf(lines: string[]): string[] {
  const file = join(import.meta.dirname, 'objects.ts');
  const text = [DECLARATIONS, ...lines].join('\n');
  const options = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [] },
    ...{ module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022 },
    // Without that of browsers, which takes longer than all the rest: no object has a type of it.
    lib: ['lib.es2022.d.ts'],
  };
  const files = ts.createCompilerHost(options);
  const compiler: ts.CompilerHost = {
    ...files,
    fileExists: (name) => name === file || files.fileExists(name),
    getSourceFile: (name, target) =>
      name === file ? ts.createSourceFile(name, text, target) : files.getSourceFile(name, target),
  };
  const program = ts.createProgram([file], options, compiler);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
