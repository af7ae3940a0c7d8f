import { jest } from '@jest/globals';
import { fromMastra } from '../../src/index.js';
import { FakeModel, type ModelStep } from '../../../../test/contracts/adapters/fake-model.js';
import { mastraAgent } from '../harness.js';
import { promise } from '../../../../test/promises.js';
import { answerOf, ask, cancel, FULL, request } from '../../../../test/support/client.js';
import { eventually } from '../../../../test/support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../../../test/support/host.js';
import { TestMemory } from '../memory.js';

const says = (text: string): ModelStep => ({
  acts: [
    { type: 'text', text },
    { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } },
  ],
});

describeOnOneAdapter('An agent of Mastra on %s', (adapter) => {
  let host: Host;
  const owner = (caller: { headers: Record<string, string> }) => caller.headers['x-caller'];

  // The framework writes errors of models to the console.
  beforeEach(() => void jest.spyOn(console, 'error').mockImplementation(() => undefined));

  afterEach(async () => {
    await host.idle();
    await host.close();
    jest.restoreAllMocks();
  });

  const askIn = (text: string, caller = 'ann') =>
    ask(host.url, text, { headers: { 'x-caller': caller }, kwargs: { session_id: 's' } });

  it(promise('mastra.memory'), async () => {
    const memory = new TestMemory();
    const model = new FakeModel([says('Hello'), says('Ada'), says('Who?'), says('I forgot')]);
    host = await startAgent(adapter, fromMastra(mastraAgent(model, [], { memory })), { owner });
    const answers: string[] = [];
    const remembered: string[][] = [];
    for (const [text, caller] of [
      ['I am Ada', 'ann'],
      ['Who am I?', 'ann'],
      ['Who am I?', 'bob'],
    ] as const) {
      answers.push(answerOf(await (await askIn(text, caller)).whole()).text);
      remembered.push(spokenTo(model));
    }
    const erasure = { method: 'DELETE', path: '/query/sessions/s', headers: { 'x-caller': 'ann' } };
    expect((await request(host.url, erasure)).status).toBe(204);
    await (await askIn('Who am I now?')).whole();
    expect(answers).toEqual(['Hello', 'Ada', 'Who?']);
    expect(remembered).toEqual([['I am Ada'], ['I am Ada', 'Hello', 'Who am I?'], ['Who am I?']]);
    expect(spokenTo(model)).toEqual(['Who am I now?']);
  });

  it(promise('mastra.cancel'), async () => {
    const model = new FakeModel([{ acts: [{ type: 'text', text: 'The cap' }], then: 'hold' }]);
    host = await startAgent(adapter, fromMastra(mastraAgent(model, [])));
    const reply = await ask(host.url, 'The capital?', { headers: FULL });
    await reply.until('The cap');
    expect((await cancel(host.url, reply.runId)).status).toBe(200);
    await eventually(() => model.newest.isAborted);
    expect((await reply.allEnvelopes()).at(-1)!.data).toEqual({ status: 'cancelled' });
  });
});

function spokenTo(model: FakeModel): string[] {
  return model.newest.messages.filter(({ role }) => role !== 'system').map(({ text }) => text);
}
