import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { ask } from 'nest-agent-query/testing';
import { AppModule } from '../src/app.module.js';

// Nothing is kept, and the scripted agent answers, whatever the machine has set.
Object.assign(process.env, { DATABASE_URL: 'memory:', ACP_COMMAND: '', ACP_ENV: '' });

describe('The agent', () => {
  let app: INestApplication;
  let directory: string;

  beforeEach(async () => {
    process.env.ACP_DIRECTORY = directory = await mkdtemp(join(tmpdir(), 'coding-agent-'));
    const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = testing.createNestApplication();
    await app.listen(0, '127.0.0.1');
  });

  afterEach(async () => {
    await app.close();
    await rm(directory, { recursive: true });
  });

  it('answers', async () => {
    const { text, end } = await ask(app, 'Hello');
    expect(text).toContain('no `ACP_COMMAND` is set');
    expect(end).toEqual({ status: 'completed' });
  });

  it.each([
    [true, 'I have written `note.txt`.'],
    [false, 'I have written nothing.'],
  ])('writes a file only after an approval: %s', async (approved, said) => {
    const envelopes = await answered('Write hello', { approved });
    expect(envelopes.find(({ type }) => type === 'tool_call')).toMatchObject({
      data: { title: 'Write note.txt', diffs: [{ path: 'note.txt', oldText: null, newText: 'hello' }] },
    });
    const texts = envelopes.filter(({ type }) => type === 'message').map(({ data }) => data.content);
    expect(texts.join('')).toBe(said);
    expect(envelopes.at(-1)).toEqual({ type: 'done', data: { status: 'completed' } });
  });

  /** Asks, and answers the first question of the agent as soon as it comes. */
  async function answered(text: string, value: object) {
    const url = `${await app.getUrl()}/query`;
    const stream = await post(url, { parts: [{ type: 'text', text }] });
    const run = stream.headers.get('content-location')!.split('/').at(-1);
    let received = '';
    let id: string | undefined;
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
      received += chunk;
      if (id !== undefined) continue;
      id = envelopesOf(received).find(({ type }) => type === 'input_required')?.data.requests?.[0]?.id;
      if (id !== undefined)
        await post(`${url}/${run}/inputs`, { answers: [{ id, outcome: 'answered', value }] });
    }
    return envelopesOf(received);
  }
});

function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

interface Received {
  type: string;
  data: { content?: string; requests?: { id: string }[] };
}

function envelopesOf(text: string): Received[] {
  return [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, json]) => JSON.parse(json!) as Received);
}
