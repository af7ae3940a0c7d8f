import { HttpAdapterHost } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { Connections } from './connections.js';

describe('Connections', () => {
  it('refuse for all modules of an application from the moment on at which one of them stops listening', async () => {
    const adapter = new ExpressAdapter();
    adapter.initHttpServer({});
    const application = new HttpAdapterHost();
    application.httpAdapter = adapter;
    const [one, two] = [new Connections(application), new Connections(application)];
    for (const each of [one, two]) each.onModuleInit();
    await new Promise<void>((resolve) => void adapter.listen(0, () => resolve()));
    expect([one.refuses({}), two.refuses({})]).toEqual([false, false]);
    const stopped = one.stopListening();
    expect([one.refuses({}), two.refuses({})]).toEqual([true, true]);
    await stopped;
  });
});
