import type { Server } from 'node:http';
import {
  file,
  log,
  message,
  QueryError,
  reasoning,
  source,
  toolCall,
  toolResult,
  usage,
} from '../../../src/index.js';
import { describeWithBrowser } from '../../browser/shared-page.js';
import { asks, REFUND } from '../../support/asking.js';
import { ADAPTERS } from '../../support/host.js';
import { ChatHost, toldTo } from './chat-host.js';

interface Chat {
  messages: { id: string }[];
  sendMessage(message: object): Promise<void>;
  regenerate(options?: object): Promise<void>;
  resumeStream(): Promise<void>;
  addToolApprovalResponse(answer: object): Promise<void>;
}
/** What the page has for tests. */
declare const window: { chat: Chat };

describeWithBrowser.each([6, 7] as const)('useChat of the AI SDK 7, with the chunks of %s,', (version) => {
  const chats = new ChatHost('ai-sdk', ADAPTERS[version % 2]!, { aiSdk: { version } });
  const page = () => chats.page;
  const { call, callFor } = {
    call: (number: number) => chats.agent.call(number),
    callFor: (text: string) => chats.agent.callFor(text),
  };

  const open = async (query = '') => {
    await chats.open(query);
    await page().waitForSelector('#status');
  };
  beforeEach(() => open());

  const send = (sent: object) => page().evaluate((each) => void window.chat.sendMessage(each), sent);
  const answerRefund = (answer: object) =>
    page().evaluate(
      (given) => void window.chat.addToolApprovalResponse({ id: 'refund-881', ...given }),
      answer,
    );
  const shows = (text: string) => page().locator('li', { hasText: text }).waitFor();
  const settled = async (status = 'ready') => {
    await page().locator('#status', { hasText: status }).waitFor();
    return page().locator('li').allTextContents();
  };
  const alert = () => page().locator('[role=alert]').textContent();
  const reload = async () => {
    await page().reload();
    await page().waitForSelector('#status');
  };
  /** Lets the agent answer its next call. */
  const answerNext = async (number: number, answer: string) => {
    const next = await call(number);
    next.emit(message(answer));
    next.finish();
    await shows(answer);
    return { told: toldTo(next), shown: await settled() };
  };

  it('shows all of an answer, also after a reload', async () => {
    const files = [
      { type: 'file', filename: 'a.txt', mediaType: 'text/plain', url: 'data:text/plain;base64,YQ==' },
    ];
    await send({ text: 'Hello', files });
    const first = await call(1);
    expect(first.query.parts).toMatchObject([{ type: 'file', name: 'a.txt' }, { text: 'Hello' }]);
    first.emit(log('L'), reasoning('Hm.'), toolCall('c', 'look', { a: 1 }));
    await shows('<Hm.>[look input-available]');
    first.emit(toolResult('c', 'seen'), source('https://example.com/'), message('one '));
    await shows('one');
    first.emit(message('two'), file({ name: 'b.txt', mimeType: 'text/plain', content: Buffer.from('B') }));
    first.emit(usage({ inputTokens: 1, outputTokens: 2 }));
    first.finish();
    const answer = '<Hm.>[look output-available][https://example.com/]one two[text/plain]';
    expect(await settled()).toEqual(['[a.txt]Hello', answer]);
    await reload();
    expect(await settled()).toEqual(['[a.txt]Hello', answer]);
    await send({ text: 'Again' });
    expect(await answerNext(2, 'three')).toEqual({
      told: ['a.txt+Hello=one two'],
      shown: ['[a.txt]Hello', answer, 'Again', 'three'],
    });
  });

  it.each(['', '?strict'])('goes on after a reload in the middle of an answer: %s', async (query) => {
    await open(query);
    await send({ text: 'Hello' });
    const first = await call(1);
    first.emit(message('one '));
    await shows('one');
    await reload();
    await shows('one');
    first.emit(message('two'));
    await shows('one two');
    first.finish();
    expect(await settled()).toEqual(['Hello', 'one two']);
    expect(chats.agent.calls).toHaveLength(1);
  });

  it('goes on after a lost connection', async () => {
    await send({ text: 'Hello' });
    const first = await call(1);
    first.emit(message('one '));
    await shows('one');
    (chats.host.app.getHttpServer() as Server).closeAllConnections();
    await settled('error');
    expect(await alert()).toBe('network error');
    await page().evaluate(() => void window.chat.resumeStream());
    first.emit(message('two'));
    await shows('one two');
    first.finish();
    expect(await settled()).toEqual(['Hello', 'one two']);
    expect(chats.agent.calls).toHaveLength(1);
  });

  it('regenerates and edits', async () => {
    await send({ text: 'A' });
    await answerNext(1, '1');
    await send({ text: 'B' });
    await answerNext(2, '2');
    await page().evaluate(() => void window.chat.regenerate());
    const third = { told: ['A=1'], shown: ['A', '1', 'B', '3'] };
    expect(await answerNext(3, '3')).toEqual(third);
    await reload();
    expect(await settled()).toEqual(third.shown);
    await page().evaluate(() => void window.chat.regenerate({ messageId: window.chat.messages[1]!.id }));
    expect(await answerNext(4, '4')).toEqual({ told: [], shown: ['A', '4'] });
    await page().evaluate(
      () => void window.chat.sendMessage({ text: 'A2', messageId: window.chat.messages[0]!.id }),
    );
    expect(await answerNext(5, '5')).toEqual({ told: [], shown: ['A2', '5'] });
    await reload();
    expect(await settled()).toEqual(['A2', '5']);
  });

  it('executes a call of the client', async () => {
    await send({ text: 'Where' });
    const first = await call(1);
    const answering = asks(first, [
      { key: 'p', kind: 'tool', message: 'Where?', toolCallId: 'call_p', name: 'place', arguments: {} },
    ]);
    expect(await answering).toMatchObject([{ outcome: 'answered', value: { content: 'Rome' } }]);
    first.emit(message('In Rome.'));
    first.finish();
    await shows('In Rome.');
    expect(await settled()).toEqual(['Where', '[place output-available]In Rome.']);
    expect(chats.agent.calls).toHaveLength(1);
  });

  it.each(['', '?queue', '?strict'])('approves after a reload: %s', async (query) => {
    await open(query);
    await send({ text: 'Refund' });
    const first = await call(1);
    first.emit(message('Wait. '));
    await shows('Wait.');
    const answering = asks(first, [REFUND]);
    await shows('[refund approval-requested]');
    await reload();
    await shows('[refund approval-requested]');
    expect(await settled()).toEqual(['Refund', 'Wait. [refund approval-requested]']);
    await answerRefund({ approved: true });
    expect(await answering).toMatchObject([{ value: { approved: true } }]);
    first.emit(toolResult('call_9', 'paid'), message('Paid.'));
    first.finish();
    await shows('Paid.');
    const shown = ['Refund', 'Wait. [refund output-available]Paid.'];
    expect(await settled()).toEqual(shown);
    await reload();
    expect(await settled()).toEqual(shown);
    expect(chats.agent.calls).toHaveLength(1);
  });

  it('queues a message while an answer arrives, and sends it after the answer to a question', async () => {
    await open('?queue');
    await send({ text: 'First' });
    const first = await call(1);
    first.emit(message('one'));
    await shows('one');
    await send({ text: 'Second' });
    const answering = asks(first, [REFUND]);
    await shows('[refund approval-requested]');
    await answerRefund({ approved: false, reason: 'No' });
    expect(await answering).toMatchObject([{ value: { approved: false, reason: 'No' } }]);
    first.emit(message('Well.'));
    first.finish();
    const second = await callFor('Second');
    expect(toldTo(second)).toEqual(['First=oneWell.']);
    second.emit(message('two'));
    second.finish();
    await shows('two');
    expect(await settled()).toEqual(['First', 'one[refund output-denied]Well.', 'Second', 'two']);
  });

  it.each([401, 429, 503])('shows a refusal, %d', async (status) => {
    await chats.refuse(status, 'Our sentence.');
    await send({ text: 'Hello' });
    await settled('error');
    expect(JSON.parse((await alert())!)).toMatchObject({ status, detail: 'Our sentence.' });
    await chats.takeAgain();
    await page().evaluate(() => void window.chat.regenerate());
    expect(await answerNext(1, 'one')).toEqual({ told: [], shown: ['Hello', 'one'] });
  });

  it('shows a failure', async () => {
    await send({ text: 'Hello' });
    const first = await call(1);
    first.emit(message('one'));
    await shows('one');
    first.fail(new QueryError('internal', 'There is no paper left.'));
    expect(await settled('error')).toEqual(['Hello', 'one']);
    expect(await alert()).toBe('There is no paper left.');
    expect(chats.agent.calls).toHaveLength(1);
  });
});
