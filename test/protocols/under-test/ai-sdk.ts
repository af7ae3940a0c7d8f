import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { chunksOf, runOf, sendChat, streamOf, textOf, user } from '../../support/ai-sdk-chat.js';
import type { ProtocolUnderTest } from './index.js';

let messages = 0;

export const aiSdk: ProtocolUnderTest = {
  name: 'AI SDK',
  module: () => AiSdkModule.forRoot(),
  submit: (base, text, { conversation, headers, members, parts = [] } = {}) => {
    const message = user(text, `message-${++messages}`);
    message.parts.push(...parts);
    return sendChat(base, [message], { id: conversation ?? null, ...members, ...(headers && { headers }) });
  },
  follow: (base, reply) => streamOf(base, runOf(reply), 0),
  resume: (base, reply, events) => streamOf(base, runOf(reply), events),
  typesOf: (stream) =>
    chunksOf(stream).map((data) => (data === '[DONE]' ? data : (JSON.parse(data) as { type: string }).type)),
  textOf,
  runIdOf: runOf,
};
