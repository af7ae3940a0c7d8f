import { type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { message, QueryModule } from 'nest-agent-query';
import * as testing from 'nest-agent-query/testing';
import { of } from 'rxjs';
import { Desk, EchoHandler } from './../src/agent.js';
import { AppModule } from './../src/app.module.js';

describe('The agent (e2e)', () => {
  let app: INestApplication;

  async function start(module: Promise<{ createNestApplication(): INestApplication }>) {
    app = (await module).createNestApplication();
    await app.listen(0, '127.0.0.1');
  }

  async function ask(parts: object[]) {
    const response = await fetch(`${await app.getUrl()}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': 'ann' },
      body: JSON.stringify({ parts }),
    });
    return response.text();
  }

  afterEach(() => app.close());

  it('answers a text and a file', async () => {
    await start(Test.createTestingModule({ imports: [AppModule] }).compile());
    const base64 = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64');
    const stream = await ask([
      { type: 'text', text: 'Hello. ' },
      { type: 'file', name: 'a.svg', mimeType: 'image/svg+xml', base64 },
    ]);
    expect(stream).toContain('"content":"a.svg has 41 bytes. "');
    expect(stream).toContain('data: {"type":"done","data":{"status":"completed"}}\n\n');
    // With the first file, Jest compiles further packages.
  }, 60_000);

  it('answers with another handler', async () => {
    const stub = { handle: () => of(message('stubbed')) };
    await start(
      Test.createTestingModule({ imports: [AppModule] })
        .overrideProvider(EchoHandler)
        .useValue(stub)
        .compile(),
    );
    expect(await ask([{ type: 'text', text: 'Hello' }])).toContain('"content":"stubbed"');
  });

  it('injects the services of both modules', async () => {
    await start(Test.createTestingModule({ imports: [AppModule] }).compile());
    const { agent, guarded } = app.get(Desk, { strict: false });
    expect(agent).not.toBe(guarded);
  });

  it('is tested with a scripted handler and a clock that the test advances', async () => {
    const handler = new testing.ScriptedHandler();
    const clock = new testing.TestClock();
    await start(
      Test.createTestingModule({ imports: [QueryModule.forRoot({ handler })] })
        .overrideProvider(testing.Clock)
        .useValue(clock)
        .compile(),
    );
    const asking = testing.ask(app, ['Hello', { name: 'a.txt', content: 'a' }, new File(['b'], 'b.txt')]);
    const call = await handler.call(1);
    expect(call.query.parts.map(({ type }) => type)).toEqual(['text', 'file', 'file']);
    await clock.pass('timeoutMs');
    expect((await asking).end).toMatchObject({ status: 'failed', error: { code: 'run_timeout' } });
  });
});
