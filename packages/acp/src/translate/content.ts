import { Buffer } from 'node:buffer';
import { type Envelope, file, log, source } from 'nest-agent-query';
import { fileName } from 'nest-agent-query-adapters';
import { membersOf, textIn } from './members.js';

const TYPE = /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,64}$/;
const NAME_LENGTH = 200;

/**
 * What callers get of a content of an answer that is no text: files, sources, and a `log` for what they cannot open.
 *
 * @param number counts the files of the answer, for names
 */
export function contentEnvelopes(content: unknown, number: number): Envelope[] {
  const { type, resource, ...members } = membersOf(content);
  if (type === 'image' || type === 'audio') return fileOf(members, members['data'], 'base64', number);
  if (type === 'resource_link') return linkOf(members);
  if (type !== 'resource') return [];
  const held = membersOf(resource);
  if (typeof held['text'] === 'string') return fileOf(held, held['text'], 'utf8', number);
  return fileOf(held, held['blob'], 'base64', number);
}

function fileOf(
  { mimeType, uri }: Record<string, unknown>,
  data: unknown,
  encoding: 'base64' | 'utf8',
  number: number,
): Envelope[] {
  if (typeof data !== 'string') return [];
  const fallback = encoding === 'utf8' ? 'text/plain' : 'application/octet-stream';
  const type = typeof mimeType === 'string' && TYPE.test(mimeType) ? mimeType : fallback;
  const label = textIn(uri)?.split(/[?#]/)[0];
  const name = fileName(type, label, `file-${number}`);
  return [file({ name, mimeType: type, content: Buffer.from(data, encoding) })];
}

function linkOf({ uri, name, title }: Record<string, unknown>): Envelope[] {
  const label = textIn(title) ?? textIn(name);
  if (typeof uri === 'string' && /^https?:\/\//i.test(uri) && URL.canParse(uri))
    return [source(uri, { title: label })];
  // Another address is one of the agent's machine.
  return [
    log(
      `The agent refers to ${label === undefined ? 'a resource' : JSON.stringify(label.slice(0, NAME_LENGTH))}.`,
    ),
  ];
}
