import { Chat } from '@ai-sdk/react';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { isApproved, message, QueryModule } from 'nest-agent-query';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import OpenAI from 'openai';
import { REFUND, YES } from '../../../test/support/asking.js';
import { follow, get, request } from '../../../test/support/client.js';
import { eventually } from '../../../test/support/conditions.js';
import { describeOnOneAdapter, type Host, startHost } from '../../../test/support/host.js';

describeOnOneAdapter('A run that a client of the AI SDK submits, with %s', (adapter) => {
  let host: Host;
  beforeEach(async () => {
    const query = QueryModule.forRoot({
      handler: async function* (_, context) {
        const [answer] = await context.ask([REFUND]);
        yield message(isApproved(answer) ? 'Refunded. ' : 'Left. ');
        yield message('I watch it …');
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      },
      runs: { drainMs: 0 },
    });
    const views = [AiSdkModule.forRoot(), AgUiModule.forRoot(), OpenAiModule.forRoot()];
    host = await startHost(adapter, { module: class {}, imports: [query, ...views] });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  it('is followed and answered at the endpoint, shown by AG-UI, and cancelled through OpenAI', async () => {
    const transport = new DefaultChatTransport<UIMessage>({ api: `${host.url}/ai/chat` });
    const chat = new Chat<UIMessage>({ id: 'c1', transport });
    await chat.sendMessage({ text: 'Refund it' });
    const asked = chat.messages.at(-1)!;
    expect(asked.parts.at(-1)).toMatchObject({ type: 'tool-refund', state: 'approval-requested' });
    const runId = asked.id.replace(/^msg_/, '');

    const followed = await follow(host.url, runId);
    await followed.until('"input_required"');
    const path = `/query/${runId}/inputs`;
    await (await request(host.url, { path }, JSON.stringify({ answers: [YES] }))).whole();
    await followed.until('I watch it');

    const shown = await get(host.url, `/ag-ui?runId=${runId}&offset=-1`);
    expect(await shown.until('I watch it')).toContain('"type":"TEXT_MESSAGE_CONTENT"');
    const resumed = chat.resumeStream();
    await eventually(() => JSON.stringify(chat.messages).includes('Refunded. I watch it'));

    const openai = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: 'none' });
    const cancelled = await openai.responses.cancel(`resp_${runId}_2`);
    expect(cancelled).toMatchObject({ id: `resp_${runId}_2`, status: 'cancelled' });
    expect((await followed.allEnvelopes()).at(-1)).toEqual({ type: 'done', data: { status: 'cancelled' } });
    expect(await shown.whole()).toContain('"outcome":{"type":"cancelled"}');
    await resumed;
    expect(chat.messages).toHaveLength(2);
  });
});
