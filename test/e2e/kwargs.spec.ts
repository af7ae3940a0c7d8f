import fc from 'fast-check';
import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { casesOf } from '../support/long-form.js';
import { request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const PARTS = '"parts":[{"type":"text","text":"Hello"}]';

describeOnOneAdapter('The kwargs of a query on %s', (adapter) => {
  let host: Host;
  let given: Record<string, unknown> | undefined;
  beforeAll(async () => {
    host = await startAgent(adapter, async function* ({ kwargs }) {
      given = kwargs;
      yield message('Hi');
    });
  });
  afterAll(() => host.close());

  const send = async (kwargs: string) => {
    given = undefined;
    const answer = await request(host.url, {}, `{${PARTS},"kwargs":${kwargs}}`);
    expect(await answer.answer()).toEqual({ text: 'Hi', done: [{ status: 'completed' }] });
    return given;
  };

  it(promise('request.kwargs'), async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (kwargs) => {
        delete kwargs['session_id'];
        const json = JSON.stringify(kwargs);
        expect(JSON.stringify(await send(json))).toBe(json);
      }),
      { numRuns: casesOf(200) },
    );
  });

  it(promise('request.kwargs', 'also keys such as __proto__, which change nothing else'), async () => {
    const json =
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,"hasOwnProperty":null,"a":{"__proto__":[1]}}';
    const kwargs = await send(json);
    expect(JSON.stringify(kwargs)).toBe(json);
    expect(Object.keys(kwargs!)).toEqual(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a']);
    expect(Object.getPrototypeOf(kwargs)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it(promise('request.no-kwargs', 'null'), async () => {
    expect(await send('null')).toEqual({});
  });

  it(promise('request.no-kwargs', 'absent'), async () => {
    const answer = await request(host.url, {}, `{${PARTS}}`);
    await answer.whole();
    expect(given).toEqual({});
  });

  it(promise('request.session-id'), async () => {
    expect(await send('{"session_id":"s-1"}')).toEqual({ session_id: 's-1' });
    expect(await send('{"session_id":null}')).toEqual({ session_id: null });
  });
});
