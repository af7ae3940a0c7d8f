import type { Turn } from 'nest-agent-query';
import { filePath } from '../view/known-file.js';
import type { AgUiMessage } from './messages-reader.js';

const USER_ID = /^user_([\w-]{1,100})$/;

/** A message of the user, as a thread that is loaded again has it. @param path that of the endpoint */
export function userMessageOf(runId: string, parts: Turn['parts'], path: string): AgUiMessage {
  const content = parts.flatMap((part): object[] => {
    if (part.type === 'text') return part.earlier ? [] : [{ type: 'text', text: part.text }];
    const { name: filename, mimeType, sha256 } = part;
    const source = { type: 'url', value: filePath(path, runId, sha256), mimeType };
    return [{ type: kindOf(mimeType), source, metadata: { filename, sha256 } }];
  });
  const [only] = content.length === 1 ? (content as { text?: string }[]) : [];
  return { id: `user_${runId}`, role: 'user', content: only?.text ?? content };
}

/** The run that such a message became; undefined if its id is another one. */
export function runOfUserMessage(id: unknown): string | undefined {
  return typeof id === 'string' ? USER_ID.exec(id)?.[1] : undefined;
}

function kindOf(mimeType: string): string {
  const [kind = ''] = mimeType.split('/');
  return ['image', 'audio', 'video'].includes(kind) ? kind : 'document';
}
