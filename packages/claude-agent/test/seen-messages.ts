import { Buffer } from 'node:buffer';
import type { ModelMessageSeen } from '../../../test/contracts/adapters/fake-model.js';
import { GO_ON } from '../src/prompt.js';
import type { KeptMessage } from './scripted-query.js';

const GO_ON_TEXT = JSON.stringify(GO_ON);

/** A conversation in the form of the contract. The sentence with which a run goes on is no question of the user. */
export function seenMessages(messages: KeptMessage[]): ModelMessageSeen[] {
  return messages.filter(({ content }) => JSON.stringify(content) !== GO_ON_TEXT).map(seen);
}

function seen({ role, content }: KeptMessage): ModelMessageSeen {
  const ofType = (type: string) => content.filter((block) => block.type === type);
  const results = ofType('tool_result');
  const files = content.filter(({ type }) => type === 'image' || type === 'document');
  return {
    role: results.length > 0 ? 'tool' : role,
    text: ofType('text')
      .map(({ text }) => text)
      .join(''),
    files: files.map(({ source }) => {
      const { media_type: mimeType, data } = source as { media_type: string; data: string };
      return { mimeType, bytes: Buffer.from(data, 'base64') };
    }),
    calls: ofType('tool_use').map(({ id, name, input }) => ({
      id: id as string,
      name: name as string,
      arguments: input as Record<string, unknown>,
    })),
    results: results.map(({ tool_use_id: id, content: result }) => ({ id: id as string, content: result })),
  };
}
