import { join } from 'node:path';

/** The text of an agent of Mastra that asks, with a storage on disk. */
export const ASKING_AGENT = `
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { fromMastra } from ${JSON.stringify(join(import.meta.dirname, '../dist/index.js'))};

const note = (line) => appendFileSync('mastra-done', line + '\\n');

const fileOf = ({ workflowName, runId }) => workflowName + '-' + runId;

class DiskStore extends InMemoryStore {
  async persistWorkflowSnapshot(run) {
    await super.persistWorkflowSnapshot(run);
    writeFileSync(fileOf(run), JSON.stringify(run.snapshot));
  }
  async loadWorkflowSnapshot(run) {
    return existsSync(fileOf(run)) ? JSON.parse(readFileSync(fileOf(run), 'utf8')) : null;
  }
}

const model = {
  specificationVersion: 'v2',
  provider: 'fake',
  modelId: 'fake',
  supportedUrls: {},
  doStream: async ({ prompt }) => {
    note('model');
    const hasPaid = prompt.some(({ role }) => role === 'tool');
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    const parts = hasPaid
      ? [
          { type: 'text-start', id: '1' },
          { type: 'text-delta', id: '1', delta: 'Paid.' },
          { type: 'text-end', id: '1' },
          { type: 'finish', finishReason: 'stop', usage },
        ]
      : [
          { type: 'tool-call', toolCallId: 'call-1', toolName: 'pay', input: '{"sum":1}' },
          { type: 'finish', finishReason: 'tool-calls', usage },
        ];
    return { stream: ReadableStream.from([{ type: 'stream-start', warnings: [] }, ...parts]) };
  },
};

const pay = createTool({
  id: 'pay',
  description: 'pays',
  inputSchema: z.object({ sum: z.number() }),
  requireApproval: true,
  execute: async ({ context }) => {
    note('pay ' + context.sum);
    return { done: true };
  },
});

const agent = new Agent({ name: 'Main', instructions: 'Pay.', model, tools: { pay } });
const mastra = new Mastra({ agents: { agent }, storage: new DiskStore(), logger: false });

export default fromMastra(mastra.getAgent('agent'));
`;
