import { message } from '../../src/index.js';
import {
  assistant,
  type ChatOptions,
  runOf,
  sendChat,
  startChats,
  textOf,
  type UiMessage,
  user,
} from '../support/ai-sdk-chat.js';
import { asks, REFUND } from '../support/asking.js';
import { get } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { type Call, ScriptedAgent } from '../support/scripted-agent.js';

/** What the transport of assistant-ui sends besides. */
const WHOLE = { more: { tools: {}, metadata: {} } };

const told = ({ context }: Call) =>
  context.history
    .map(
      ({ parts, text }) =>
        `${parts.map((part) => (part.type === 'text' ? part.text : '')).join('+')}=${text}`,
    )
    .join(' ');

describeOnOneAdapter('What a page of assistant-ui shows of a chat, on %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;

  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startChats(adapter, agent.handler);
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  /** Sends a text after messages, and answers it with the same text in small letters. */
  const answerTo = async (shown: UiMessage[], text: string, options: ChatOptions = WHOLE) => {
    const calls = agent.calls.length;
    const reply = await sendChat(host.url, [...shown, user(text)], options);
    const call = await agent.call(calls + 1);
    call.emit(message(text.toLowerCase()));
    call.finish();
    const answer = assistant(runOf(reply), { type: 'text', text: textOf(await reply.whole()) });
    return { shown: [...shown, user(text), answer], told: told(call) };
  };
  const loaded = async () => {
    const { messages } = await (await get(host.url, '/ai/chat/c1')).json<{ messages: UiMessage[] }>();
    return messages;
  };
  const textsOf = (messages: UiMessage[]) =>
    messages.map(({ parts }) => parts.map((part) => (part as { text?: string }).text ?? '').join(''));

  it('counts after an edit of any message, which the client does not name', async () => {
    const first = await answerTo([], 'A');
    const second = await answerTo(first.shown, 'B');
    await answerTo(second.shown, 'C');
    const edited = await answerTo(first.shown, 'B2');
    expect(edited.told).toBe('A=a');
    expect((await answerTo(edited.shown, 'D')).told).toBe('A=a B2=b2');
    expect(textsOf(await loaded())).toEqual(['A', 'a', 'B2', 'b2', 'D', 'd']);
    expect((await answerTo([], 'A2')).told).toBe('');
    expect(textsOf(await loaded())).toEqual(['A2', 'a2']);
  });

  it('counts also where the user goes back to a version that the session no longer has', async () => {
    let { shown } = await answerTo([], 'A');
    const versions = [];
    for (const text of ['B', 'C', 'D', 'E']) versions.push(({ shown } = await answerTo(shown, text)).shown);
    await answerTo(versions[0]!, 'C2');
    expect((await answerTo(versions[3]!, 'F')).told).toBe('A=a B=b C=c D=d E=e');
    const all = ['A', 'a', 'B', 'b', 'C', 'c', 'D', 'd', 'E', 'e', 'F', 'f'];
    expect(textsOf(await loaded())).toEqual(all);
    // The same after the page was loaded again.
    const again = await loaded();
    expect((await answerTo(again, 'G')).told).toBe('A=a B=b C=c D=d E=e F=f');
    expect((await answerTo(again.slice(0, 8), 'E2')).told).toBe('A=a B=b C=c D=d');
  });

  it('counts when an answer is regenerated', async () => {
    const first = await answerTo([], 'A');
    const second = await answerTo(first.shown, 'B');
    await answerTo(first.shown, 'B2');
    const regenerate = { ...WHOLE, trigger: 'regenerate-message' };
    expect((await answerTo(second.shown.slice(0, 2), 'B', regenerate)).told).toBe('A=a');
    expect((await answerTo(second.shown, 'C', regenerate)).told).toBe('A=a B=b');
  });

  it('waits for a run that it shows, and may cut off nothing while one executes', async () => {
    const { shown } = await answerTo([], 'A');
    const reply = await sendChat(host.url, [...shown, user('B')], WHOLE);
    const call = await agent.callFor('B');
    const partial = [...shown, user('B'), assistant(runOf(reply))];
    const cut = await sendChat(host.url, [...shown, user('B2')], WHOLE);
    expect(await cut.json()).toMatchObject({ status: 409, code: 'session_busy' });
    const next = await sendChat(host.url, [...partial, user('C')], WHOLE);
    call.emit(message('b'));
    call.finish();
    const after = await agent.callFor('C');
    expect(told(after)).toBe('A=a B=b');
    after.finish();
    await next.whole();
  });

  it('has what a run asks, and a text takes the place of the answer', async () => {
    const reply = await sendChat(host.url, [user('A')], WHOLE);
    asks(await agent.callFor('A'), [REFUND]).catch(() => undefined);
    await reply.whole();
    const next = await sendChat(host.url, [user('A'), assistant(runOf(reply)), user('B')], WHOLE);
    const call = await agent.callFor('B');
    expect(told(call)).toBe('A=');
    call.finish();
    await next.whole();
  });

  it('does not count with ids that are not of this service, or from other clients', async () => {
    const first = await answerTo([], 'A');
    await answerTo(first.shown, 'B');
    const foreign = [user('X'), { ...assistant(''), id: 'x' }];
    expect((await answerTo(foreign, 'C')).told).toBe('A=a B=b');
    expect((await answerTo(first.shown, 'D', {})).told).toBe('A=a B=b C=c');
    expect((await answerTo([], 'E', { more: { tools: {} } })).told).toBe('A=a B=b C=c D=d');
    const switches = { more: { tools: { web: true }, metadata: { tenant: 'x' } } };
    expect((await answerTo([], 'F', switches)).told).toBe('A=a B=b C=c D=d E=e');
  });
});
