import { join } from 'node:path';
import { Module, UseGuards } from '@nestjs/common';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import type { Page } from 'playwright-core';
import { AccessGuard, AccessModule, ownerOf } from '../../src/access/index.js';
import { file, message, QueryError, QueryModule } from '../../src/index.js';
import { asks, REFUND } from '../support/asking.js';
import { FRONT_END, type FrontEnd, startFrontEnd, TOKENS } from '../support/front-end.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { describeWithBrowser, sharePage } from './shared-page.js';

/** `npm run browser` builds it, and the program of `test/clients/front-ends` with a newer AI SDK. */
const PAGE = process.env['FRONT_END_PAGE'] ?? join(FRONT_END, 'dist');

describeWithBrowser('The page of examples/front-end, in Chromium', () => {
  let page: Page;
  const faults = sharePage((opened) => (page = opened));

  beforeAll(() => page.setDefaultTimeout(20_000));

  describeOnOneAdapter('before a service on %s', (adapter) => {
    let agent: ScriptedAgent;
    let host: Host;
    let frontEnd: FrontEnd;

    beforeEach(async () => {
      agent = new ScriptedAgent();
      const decorators = [UseGuards(AccessGuard)];
      const runs = { drainMs: 0, stopDeadlineMs: 100 };
      @Module({
        imports: [
          AccessModule.forRoot({ jwt: TOKENS }),
          QueryModule.forRoot({ handler: agent.handler, decorators, owner: ownerOf, runs }),
          AiSdkModule.forRoot({ decorators }),
        ],
      })
      class Service {}
      host = await startHost(adapter, Service);
      frontEnd = await startFrontEnd(host.url, PAGE);
    });
    afterEach(async () => {
      await page.goto('about:blank');
      await frontEnd.stop();
      await host.close();
      expect(faults).toEqual([]);
    });

    const logIn = async (name: 'ann' | 'bob', address = '/') => {
      await page.goto(frontEnd.url + address);
      await page.fill('[name=name]', name);
      await page.fill('[name=password]', `${name}-1`);
      await page.click('text=Log in');
      await page.waitForSelector('.ask');
    };
    const logOut = async () => {
      await page.click('text=Log out');
      await page.waitForSelector('.login');
    };
    const ask = async (text: string) => {
      await page.fill('[name=text]', text);
      await page.click('text=Send');
    };
    const shows = (text: string) => page.locator('li', { hasText: text }).waitFor();
    /** The texts of the messages, when the page takes the next one. */
    const settled = async () => {
      await page.waitForSelector('button >> text=Send');
      return page.locator('li').allTextContents();
    };
    const reload = async () => {
      await page.reload();
      await page.waitForSelector('.ask');
    };

    it('tells a wrong password', async () => {
      await page.goto(frontEnd.url);
      await page.fill('[name=name]', 'ann');
      await page.fill('[name=password]', 'bob-1');
      await page.click('text=Log in');
      await page.locator('[role=alert]', { hasText: 'The name or the password is wrong.' }).waitFor();
    });

    it('shows an answer while it arrives, goes on with it after a reload, and has it after the end', async () => {
      await logIn('ann');
      await ask('Hello');
      const call = await agent.call(1);
      call.emit(message('one '));
      await shows('one');
      await reload();
      await shows('one');
      call.emit(message('two'));
      await shows('one two');
      call.finish();
      expect(await settled()).toEqual(['Hello', 'one two']);
      await reload();
      await shows('one two');
      expect(await settled()).toEqual(['Hello', 'one two']);
      await ask('Again');
      const second = await agent.call(2);
      expect(second.context.history).toHaveLength(1);
      second.emit(message('three'));
      await reload();
      await shows('three');
      second.finish();
      expect(await settled()).toEqual(['Hello', 'one two', 'Again', 'three']);
      expect(agent.calls).toHaveLength(2);
    });

    it.each([
      ['Approve', true],
      ['Decline', false],
    ])('shows what the agent asks after a reload too, and takes the answer: %s', async (button, approved) => {
      await logIn('ann');
      await ask('Refund');
      const call = await agent.call(1);
      call.emit(message('Let me see. '));
      await shows('Let me see.');
      const answering = asks(call, [REFUND]);
      await page.waitForSelector('.approval');
      await reload();
      await page.waitForSelector('.approval');
      expect(await page.locator('.approval').count()).toBe(1);
      await page.click(`.approval >> text=${button}`);
      expect(await answering).toMatchObject([{ outcome: 'answered', value: { approved } }]);
      call.emit(message('Well.'));
      call.finish();
      await shows('Well.');
      const texts = ['Refund', `Let me see. refund {"customer":881,"amount":120}Well.`];
      expect(await settled()).toEqual(texts);
      await reload();
      await shows('Well.');
      expect(await settled()).toEqual(texts);
      expect(agent.calls).toHaveLength(1);
    });

    it('stops the agent at once', async () => {
      await logIn('ann');
      await ask('Hello');
      const call = await agent.call(1);
      call.emit(message('one'));
      await shows('one');
      await page.click('text=Stop');
      await call.stopped;
      expect(await settled()).toEqual(['Hello', 'one']);
      await reload();
      await shows('Stopped.');
      expect(await settled()).toEqual(['Hello', 'oneStopped.']);
    });

    it('takes an approval card away when a newer message takes the place of the answer', async () => {
      await logIn('ann');
      await ask('Refund');
      const call = await agent.call(1);
      const answering = asks(call, [REFUND]);
      await page.waitForSelector('.approval');
      await ask('Leave it');
      await expect(answering).rejects.toThrow();
      (await agent.call(2)).finish();
      expect(await settled()).toHaveLength(4);
      expect(await page.locator('.approval').count()).toBe(0);
      await reload();
      await shows('Stopped.');
      expect(await page.locator('.approval').count()).toBe(0);
    });

    it('loads an answer that has ended between the two requests of a reload', async () => {
      await logIn('ann');
      await ask('Hello');
      const call = await agent.call(1);
      call.emit(message('one'));
      await shows('one');
      await page.route(/\/stream\?/, async (route) => {
        call.finish();
        await host.idle();
        await route.continue();
      });
      await reload();
      await shows('one');
      await page.unroute(/\/stream\?/);
      expect(await settled()).toEqual(['Hello', 'one']);
    });

    it('says when the agent has failed, after a reload too', async () => {
      await logIn('ann');
      await ask('Hello');
      const call = await agent.call(1);
      call.emit(message('one'));
      call.fail(new QueryError('internal', 'There is no paper left.'));
      await page.locator('[role=alert]', { hasText: 'There is no paper left.' }).waitFor();
      await reload();
      await shows('There is no paper left.');
      expect(await settled()).toEqual(['Hello', 'oneThere is no paper left.']);
    });

    it('uploads a file, and has the files of both after a reload', async () => {
      await logIn('ann');
      const buffer = Buffer.alloc(3_000_000, 'a');
      await page.setInputFiles('[type=file]', { name: 'a.txt', mimeType: 'text/plain', buffer });
      await ask('Read');
      const call = await agent.call(1);
      expect(call.query.parts).toMatchObject([
        { type: 'file', name: 'a.txt', mimeType: 'text/plain', file: { size: 3_000_000 } },
        { type: 'text', text: 'Read' },
      ]);
      call.emit(file({ name: 'b.txt', mimeType: 'text/plain', content: Buffer.from('An answer') }));
      call.finish();
      await settled();
      await reload();
      for (const [name, content] of [
        ['a.txt', buffer.toString()],
        ['text/plain', 'An answer'],
      ]) {
        const address = await page.locator('a', { hasText: name! }).getAttribute('href');
        const loaded = await page.evaluate((url) => fetch(url).then((read) => read.text()), address!);
        expect(loaded === content).toBe(true);
      }
    });

    it('shows nothing of one user to the next one, also at the same address', async () => {
      await logIn('ann');
      await ask('Refund');
      const call = await agent.call(1);
      call.emit(message('A secret.'));
      await shows('A secret.');
      const answering = asks(call, [REFUND]);
      await page.waitForSelector('.approval');
      const { hash } = new URL(page.url());
      await logOut();
      expect(await page.content()).not.toContain('secret');
      await logIn('bob', `/${hash}`);
      expect(await settled()).toEqual([]);
      await ask('Mine');
      const second = await agent.call(2);
      expect(second.context.history).toEqual([]);
      second.emit(message('Yours.'));
      second.finish();
      await shows('Yours.');
      expect(await settled()).toEqual(['Mine', 'Yours.']);
      await logOut();
      await logIn('ann', `/${hash}`);
      await page.click('.approval >> text=Approve');
      expect(await answering).toMatchObject([{ value: { approved: true } }]);
      call.finish();
      expect(await settled()).toEqual(['Refund', 'A secret.refund {"customer":881,"amount":120}']);
    });

    it('says when the login has ended', async () => {
      await logIn('ann');
      await page.context().clearCookies();
      await ask('Hello');
      await page.locator('[role=alert]', { hasText: 'Log in first.' }).waitFor();
      expect(agent.calls).toEqual([]);
    });
  });
});
