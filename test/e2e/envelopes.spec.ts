import {
  type HandlerFunction,
  log,
  message,
  progress,
  reasoning,
  source,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { ask } from '../support/client.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';

/** The answer of an agent that calls a tool in the middle of its text. */
const ANSWER = [
  reasoning('The weather ', { id: 'r1' }),
  reasoning('is needed.', { id: 'r1' }),
  message('Let me '),
  log('calling'),
  message('look.'),
  progress(1, { total: 2, unit: 'steps', label: 'Looking' }),
  toolCall('c1', 'weather', { city: 'Paris' }),
  toolResult('c1', { celsius: 21 }, { isError: false }),
  source('https://weather.example', { title: 'Weather' }),
  message('21 ', { id: 'm2' }),
  message('degrees.', { id: 'm2' }),
  usage({ inputTokens: 5, outputTokens: 7, model: 'm' }),
  { type: 'usage', data: { inputTokens: 1, outputTokens: 0, cost: 0.5 } },
  { type: 'chart', data: [1] },
];

describe.each(ADAPTERS)('An agent on %s that uses all standard types', (adapter) => {
  let host: Host;
  const start = async (handler: HandlerFunction) => {
    host = await startAgent(adapter, handler);
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  it(promise('stream.standard-types'), async () => {
    await start(async function* () {
      yield* ANSWER;
    });
    const reply = await ask(host.url);
    expect(await reply.allEnvelopes()).toEqual([...ANSWER, { type: 'done', data: { status: 'completed' } }]);
  });
});
