import { log, message, QueryError, source, toolCall, toolResult } from '../../../src/index.js';
import { describeWithBrowser } from '../../browser/shared-page.js';
import { asks, REFUND } from '../../support/asking.js';
import { ONE_ADAPTER } from '../../support/host.js';
import { ChatHost, toldTo } from './chat-host.js';

describeWithBrowser('assistant-ui, in Chromium,', () => {
  const chats = new ChatHost('assistant-ui', ONE_ADAPTER);
  const page = () => chats.page;

  const ready = () => page().waitForSelector('.composer');
  const open = async (query = '') => {
    await chats.open(query);
    await ready();
  };
  const reload = async () => {
    await page().reload();
    await ready();
  };
  const ask = async (text: string) => {
    await page().fill('.composer textarea', text);
    await page().click('.composer >> text=Send');
  };
  const shows = (text: string) => page().locator('.text', { hasText: text }).waitFor();
  const settled = async () => {
    await page().locator('.composer >> text=Send').waitFor();
    return page().locator('.text').allTextContents();
  };
  const at = (text: string, button: string) =>
    page().locator('.message', { hasText: text }).locator(`text=${button}`).click();
  /** Lets the agent answer its next call. */
  const answerNext = async (number: number, answer: string) => {
    const call = await chats.agent.call(number);
    call.emit(message(answer));
    call.finish();
    await shows(answer);
    return { told: toldTo(call), shown: await settled() };
  };
  const edit = async (text: string, changed: string) => {
    await at(text, 'Edit');
    await page().fill('.edit textarea', changed);
    await page().click('.edit >> text=Update');
  };
  const alert = () => page().locator('[role=alert]').last();

  it.each(['', '?quick-start'])(
    'has the history that it shows, after edits and changes: %s',
    async (query) => {
      await open(query);
      await ask('A');
      await answerNext(1, 'a1');
      await ask('B');
      await answerNext(2, 'b1');
      await edit('B', 'B2');
      expect(await answerNext(3, 'b2')).toEqual({ told: ['A=a1'], shown: ['A', 'a1', 'B2', 'b2'] });
      await ask('C');
      expect((await answerNext(4, 'c1')).told).toEqual(['A=a1', 'B2=b2']);
      await edit('A', 'A2');
      expect(await answerNext(5, 'a2')).toEqual({ told: [], shown: ['A2', 'a2'] });
      await ask('D');
      expect((await answerNext(6, 'd1')).told).toEqual(['A2=a2']);
      await at('a2', 'Reload');
      expect(await answerNext(7, 'a3')).toEqual({ told: [], shown: ['A2', 'a3'] });
      await at('A2', 'Previous');
      const earlier = ['A', 'a1', 'B2', 'b2', 'C', 'c1'];
      expect(await settled()).toEqual(earlier);
      await ask('E');
      const last = { told: ['A=a1', 'B2=b2', 'C=c1'], shown: [...earlier, 'E', 'e1'] };
      expect(await answerNext(8, 'e1')).toEqual(last);
      await reload();
      // The quick start begins a new thread with each load.
      expect(await settled()).toEqual(query === '' ? last.shown : []);
    },
  );

  it('shows an answer while it arrives and after a reload, and stops', async () => {
    await open();
    const choosing = page().waitForEvent('filechooser');
    await page().click('text=Attach');
    const buffer = Buffer.from('File');
    await (await choosing).setFiles({ name: 'a.txt', mimeType: 'text/plain', buffer });
    await page().waitForSelector('.attachment');
    await ask('Hello');
    const call = await chats.agent.call(1);
    expect(call.query.parts).toMatchObject([{ text: 'Hello' }, { type: 'file', name: 'a.txt' }]);
    call.emit(log('L'), toolCall('c', 'look', {}), toolResult('c', 'seen'));
    call.emit(source('https://example.com/'), message('one '));
    await shows('one');
    await reload();
    await shows('one');
    call.emit(message('two'));
    await shows('one two');
    const shown = ['Hello', '[look "seen"][https://example.com/]one two'];
    await page().click('.composer >> text=Stop');
    await call.stopped;
    expect(await settled()).toEqual(shown);
    await reload();
    expect(await settled()).toEqual(shown);
    expect(await page().locator('.attachment').textContent()).toBe('a.txt');
  });

  it('says why the agent has failed, and why the service has refused', async () => {
    await open();
    await ask('Hello');
    const call = await chats.agent.call(1);
    call.emit(message('one'));
    await shows('one');
    call.fail(new QueryError('internal', 'There is no paper left.'));
    await page().locator('[role=alert]', { hasText: 'There is no paper left.' }).waitFor();
    await chats.refuse(429, 'Too many.');
    await ask('Again');
    await page().locator('[role=alert]', { hasText: 'Too many.' }).waitFor();
    expect(await alert().textContent()).toBe('Too many.');
    await chats.takeAgain();
    await page().locator('.message').last().locator('text=Reload').click();
    expect(await answerNext(2, 'two')).toEqual({
      told: ['Hello=one'],
      shown: ['Hello', 'one', 'Again', 'two'],
    });
  });

  it.each([
    ['Approve', true, '[refund "paid"]'],
    ['Decline', false, '[refund {"error":"Tool approval denied"}]'],
  ])('answers what the agent asks, after a reload too: %s', async (button, approved, shown) => {
    await open();
    await ask('Refund');
    const call = await chats.agent.call(1);
    call.emit(message('Wait. '));
    await shows('Wait.');
    const answering = asks(call, [REFUND]);
    await page().waitForSelector('.approval');
    await reload();
    await page().click(`.approval >> text=${button}`);
    expect(await answering).toMatchObject([{ outcome: 'answered', value: { approved } }]);
    if (approved) call.emit(toolResult('call_9', 'paid'));
    call.emit(message('Well.'));
    call.finish();
    await shows('Well.');
    expect(await settled()).toEqual(['Refund', `Wait. ${shown}Well.`]);
    await reload();
    expect(await settled()).toEqual(['Refund', `Wait. ${shown}Well.`]);
    expect(chats.agent.calls).toHaveLength(1);
  });

  it('lets a text take the place of an answer', async () => {
    await open();
    await ask('Refund');
    const call = await chats.agent.call(1);
    asks(call, [REFUND]).catch(() => undefined);
    await page().waitForSelector('.approval');
    await ask('Leave it');
    expect((await answerNext(2, 'ok')).told).toEqual(['Refund=']);
    expect(await page().locator('.approval').count()).toBe(0);
  });
});
