import type { UIMessage } from 'ai';
import {
  file,
  log,
  message,
  reasoning,
  result,
  source,
  suggestions,
  toolCall,
  toolResult,
  usage,
} from 'nest-agent-query';

/** An answer with each type of envelope that a message of the AI SDK shows. */
export const EVERY_TYPE = [
  log('Begin'),
  reasoning('Hm.'),
  message('a'),
  message('b', { id: '2' }),
  toolCall('c1', 'search', { x: 1 }),
  toolCall('c2', 'search'),
  toolResult('c1', { hits: 1 }),
  toolResult('c2', 'No', { isError: true }),
  message('Done.'),
  source('https://example.com', { title: 'A' }),
  file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('x') }),
  result(1),
  usage({ inputTokens: 1, outputTokens: 1 }),
  suggestions([{ text: 'More' }]),
];

/** The text of a message. */
export function messageText({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
