import { createRequire } from 'node:module';
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import { message, reasoning, toolCall, toolResult } from 'nest-agent-query';
import { startChats } from '../../../test/support/ai-sdk-chat.js';
import { describeOnOneAdapter } from '../../../test/support/host.js';
import { EventCutter } from '../../../test/support/event-cutter.js';

/** The package needs Node 22 and the AI SDK 7: `npm run matrix -- clients-22` has them. */
const PACKAGE = '@ai-sdk/workflow/client';

interface WorkflowPackage {
  WorkflowChatTransport: new (options: object) => ChatTransport<UIMessage>;
}

function isInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve(PACKAGE);
    return true;
  } catch {
    return false;
  }
}

const MESSAGES: UIMessage[] = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];

if (isInstalled())
  describeOnOneAdapter('WorkflowChatTransport of the AI SDK 7, with %s', (adapter) => {
    it('resumes by itself after each chunk, without a gap or a repeat', async () => {
      const { WorkflowChatTransport } = (await import(PACKAGE)) as WorkflowPackage;
      const host = await startChats(adapter, async function* () {
        yield reasoning('Hm.');
        yield message('a');
        yield message('b');
        yield toolCall('c1', 'search', { x: 1 });
        yield toolResult('c1', { hits: 1 });
        yield message('Done.');
      });
      const cutter = await EventCutter.before(host.url);
      const transport = new WorkflowChatTransport({
        api: `${cutter.url}/ai/chat`,
        prepareSendMessagesRequest: ({ id, messages, trigger }: Record<string, unknown>) => ({
          headers: { 'content-type': 'application/json' },
          body: { id, messages, trigger },
        }),
      });
      const read = async (chatId: string): Promise<UIMessageChunk[]> => {
        const options = { trigger: 'submit-message', chatId, messages: MESSAGES } as const;
        const stream = await transport.sendMessages({
          ...options,
          messageId: undefined,
          abortSignal: undefined,
        });
        const chunks: UIMessageChunk[] = [];
        for await (const chunk of stream as unknown as AsyncIterable<UIMessageChunk>) chunks.push(chunk);
        return chunks;
      };
      const typesOf = (chunks: UIMessageChunk[]) => chunks.map(({ type }) => type);
      const whole = typesOf(await read('whole'));
      expect(whole.at(-1)).toBe('finish');
      for (let cut = 1; cut < whole.length; cut++) {
        cutter.cuts = [cut];
        expect([cut, typesOf(await read(`cut-${cut}`))]).toEqual([cut, whole]);
      }
      await cutter.stop();
      await host.idle();
      await host.close();
    });
  });
else it.skip('WorkflowChatTransport needs Node 22', () => undefined);
