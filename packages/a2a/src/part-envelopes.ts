import { hash } from 'node:crypto';
import type { Part } from '@a2a-js/sdk';
import { type Envelope, file, result, source } from 'nest-agent-query';
import { fileName } from 'nest-agent-query-adapters';

/** The texts among parts, with nothing between them. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('');
}

/** A digest of a part that is no text. */
export function digestOf({ content }: Part): string {
  const value = content?.$case === 'raw' ? content.value : JSON.stringify([content?.$case, content?.value]);
  return hash('sha256', value, 'base64url');
}

/**
 * The envelope of a part that is no text. A URL is never fetched: the agent chooses it, and it may lead anywhere.
 *
 * @param artifact the id of the artifact
 * @param hasResult whether the run has its structured result already
 */
export function envelopeOf(part: Part, artifact: string, hasResult: boolean): Envelope | undefined {
  const { content, filename, mediaType } = part;
  if (content?.$case === 'raw') {
    const [type = ''] = mediaType.split(';', 1);
    const mimeType = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream';
    return file({ name: fileName(mimeType, filename), mimeType, content: content.value });
  }
  if (content?.$case === 'url') return source(content.value, filename === '' ? {} : { title: filename });
  if (content?.$case !== 'data') return undefined;
  const value: unknown = content.value;
  const { url, title } = (value ?? {}) as { url?: unknown; title?: unknown };
  // A service as this one tells its sources so.
  if (artifact === 'sources' && typeof url === 'string')
    return source(url, typeof title === 'string' ? { title } : {});
  if (hasResult) return { type: 'data', data: { artifact, value } };
  return result(value);
}
