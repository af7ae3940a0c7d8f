/** npm `@a2a-js/sdk` on Express, JSON-RPC: an artifact update per event, with the task store in memory. */
import { once } from 'node:events';
import { AGENT_CARD_PATH, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import expressFactory from 'express';
import { push } from '../work.mjs';

const card = {
  name: 'measured',
  description: 'Answers by plan',
  version: '1',
  provider: undefined,
  supportedInterfaces: [
    { url: 'http://localhost/query', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [],
  signatures: [],
};

class Executor {
  async execute({ userMessage, taskId, contextId }, bus) {
    const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_WORKING),
        artifacts: [],
        history: [userMessage],
        metadata: {},
      }),
    );
    const emit = (text) =>
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: { ...ARTIFACT, parts: [{ ...PART, content: { $case: 'text', value: text } }] },
          append: true,
          lastChunk: false,
          metadata: undefined,
        }),
      );
    await new Promise((resolve) => push(userMessage.parts[0].content.value, emit, resolve));
    const completed = status(TaskState.TASK_STATE_COMPLETED);
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: completed, metadata: {} }));
    bus.finished();
  }

  async cancelTask() {}
}
const ARTIFACT = { artifactId: '1', name: 'answer', description: '', metadata: undefined, extensions: [] };
const PART = { metadata: undefined, filename: '', mediaType: 'text/plain' };

export async function express() {
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Executor());
  const app = expressFactory();
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/query', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}
