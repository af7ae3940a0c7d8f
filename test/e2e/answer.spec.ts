import { message, QueryModule } from '../../src/index.js';
import { ADAPTERS, startHost } from '../support/host.js';

describe.each(ADAPTERS)('POST /query on %s', (adapter) => {
  it('answers with data lines and blank lines only, and ends with done', async () => {
    const handler = async function* () {
      yield message('Hi');
      yield message('é');
    };
    const host = await startHost(adapter, QueryModule.forRoot({ handler }));
    const response = await fetch(`${host.url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"parts":[{"type":"text","text":"Hello"}],"kwargs":{}}',
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(
      'data: {"type":"message","data":{"content":"Hi"}}\n\n' +
        'data: {"type":"message","data":{"content":"é"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
    await host.close();
  });
});
