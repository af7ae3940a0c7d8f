import { Injectable, Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { AgentHandler, message, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, get } from '../support/client.js';
import { describeOnBothAdapters, startHost } from '../support/host.js';

const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
const says = (content: string) => `data: {"type":"message","data":{"content":"${content}"}}\n\n` + DONE;

@Injectable()
class Model {
  static loaded = 0;
  readonly name = `model ${++Model.loaded}`;
}

@Module({ providers: [Model], exports: [Model] })
class ModelModule {}

/** Loads its model when it is asked for the first time. */
@Injectable()
class LazyHandler extends AgentHandler {
  constructor(private readonly loader: LazyModuleLoader) {
    super();
  }

  async *handle() {
    const module = await this.loader.load(() => ModelModule);
    yield message(module.get(Model).name);
  }
}

describeOnBothAdapters('Lazy modules on %s', (adapter) => {
  it(promise('module.lazy', 'are loaded by a handler'), async () => {
    Model.loaded = 0;
    const host = await startHost(adapter, QueryModule.forRoot({ handler: LazyHandler }));
    expect(Model.loaded).toBe(0);
    for (let count = 1; count <= 2; count++)
      expect(await (await ask(host.url)).whole()).toBe(says('model 1'));
    await host.close();
  });

  it(promise('module.lazy', 'cannot be the module itself'), async () => {
    const host = await startHost(adapter, QueryModule.forRoot({ handler: LazyHandler }));
    const loader = host.app.get(LazyModuleLoader);
    const late = QueryModule.forRoot({ name: 'late', path: 'late', handler: LazyHandler });
    await expect(loader.load(() => late)).rejects.toThrow(
      'QueryModule cannot be loaded by LazyModuleLoader, because Nest registers no routes for such a module. ' +
        'Import it in a module of the application. Its handler may load other modules lazily.',
    );
    expect((await get(host.url, '/late/a')).status).toBe(404);
    expect(await (await ask(host.url)).whole()).toMatch(/^data: {"type":"message"/);
    await host.close();
  });
});
