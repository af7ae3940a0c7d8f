import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import mime from 'mime';
import type { SessionRef } from 'nest-agent-query';

/** The most bytes that the name of a file has. */
const NAME_BYTES = 255;

/**
 * The name of a session's thread in the memory of a framework: 64 hexadecimal digits. Owners and ids are any strings, and memories
 * take some characters for their own; no two sessions have the same digest.
 *
 * @example
 * await memory.deleteThread(threadOf({ owner: 'ann', id: 'trip' }));
 */
export function threadOf({ owner, id }: SessionRef): string {
  return digest([owner, id]);
}

/**
 * An id of a tool call that no other run has. Some models number their calls from the beginning in each answer, and frameworks take
 * equal ids for one call. It has 9 letters and digits: Mistral takes no other ids.
 *
 * @param id the call's own id
 *
 * @example
 * callId(turn.runId, 'call_0'); // such as 'h0Zk3x81B'
 */
export function callId(runId: string, id: string): string {
  const text = Buffer.from(digest([runId, id]), 'hex').toString('base64');
  return text.replace(/[^A-Za-z0-9]/g, '').slice(0, 9);
}

/**
 * The name of a file that a model or a tool has made.
 *
 * @param label what names the file, if anything does: only its last part is used, without control characters
 * @param baseName the name of a file without a usable label. Its extension is that of the type, or `bin`. Default: `file`
 *
 * @example
 * fileName('image/png', undefined, 'image'); // 'image.png'
 * fileName('text/csv', '../../rows.csv'); // 'rows.csv'
 */
export function fileName(mimeType: string, label = '', baseName = 'file'): string {
  const name = label.slice(label.search(/(?<![^/\\])[^/\\]*$/)).replace(/\p{Cc}/gu, '');
  if (name !== '' && Buffer.byteLength(name) <= NAME_BYTES) return name;
  // The list of types has `mpga` first, which hardly anybody knows.
  const extension = mimeType.startsWith('audio/mpeg') ? 'mp3' : mime.getExtension(mimeType);
  return `${baseName}.${extension ?? 'bin'}`;
}

function digest(names: string[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('hex');
}
