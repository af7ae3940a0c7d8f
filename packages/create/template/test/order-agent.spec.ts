import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { ask } from 'nest-agent-query/testing';
import { AppModule } from '../src/app.module.js';
import { Orders } from '../src/orders.js';

// Nothing is kept, and the scripted model answers, whatever the machine has set.
Object.assign(process.env, { DATABASE_URL: 'memory:', MODEL: '', MODEL_BASE_URL: '' });

describe('The agent', () => {
  let app: INestApplication;

  beforeEach(async () => {
    const orders = {
      find: (number: string) => (number === '7' ? { number, city: 'Bergen', status: 'sent' } : undefined),
    };
    const testing = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(Orders)
      .useValue(orders)
      .compile();
    app = testing.createNestApplication();
  });

  afterEach(() => app.close());

  it('looks up the order that a question names', async () => {
    const { envelopes, text, end } = await ask(app, 'Where is order 7?');
    expect(envelopes.filter(({ type }) => type.startsWith('tool_'))).toMatchObject([
      { type: 'tool_call', data: { name: 'findOrder', arguments: { number: '7' } } },
      { type: 'tool_result', data: { content: { city: 'Bergen' } } },
    ]);
    expect(text).toBe('Order **7** to Bergen is *sent*.');
    expect(end).toEqual({ status: 'completed' });
  });

  it('says that there is no such order', async () => {
    const { text } = await ask(app, 'Where is order 8?');
    expect(text).toBe('There is no order 8.');
  });

  it('gives the rest of an answer to a client that has lost its connection', async () => {
    const whole = await ask(app, 'Where is order 7?');
    const rest = await ask(app, 'Where is order 7?', { lastEventId: `${whole.runId}.1` });
    expect(rest.envelopes).toEqual(whole.envelopes.slice(1));
  });
});
