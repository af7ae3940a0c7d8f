import { pathToFileURL } from 'node:url';
import {
  type Envelope,
  fileBytes,
  type FilePart,
  fileText,
  fileType,
  isTextFile,
  type Query,
  type QueryContext,
  type Turn,
} from 'nest-agent-query';
import { readConversation } from 'nest-agent-query-adapters';
import { historyText } from './history.js';
import { membersOf } from './members.js';

/** How files of the query reach the agent: as text in the prompt, as embedded resources, or as links to files in its folder. */
export type FilesAs = 'text' | 'embedded' | 'link';

/** A block of `session/prompt`. */
export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; mimeType: string; data: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; text: string } }
  | { type: 'resource_link'; uri: string; name: string; mimeType: string; size: number };

export interface PromptSettings {
  /** `promptCapabilities` of the agent, of any shape. */
  capabilities: unknown;
  files: FilesAs;
  /** The earlier turns that the agent does not remember. Default: none. */
  history?: readonly Turn[] | undefined;
  /** Writes a file where the agent can read it, and returns its absolute path. */
  keepFile: (part: FilePart) => Promise<string>;
}

/**
 * The prompt of a query.
 *
 * @returns the blocks, at least one, and what callers are told first
 * @throws {QueryError} `limit_exceeded`: a file is too large · what `keepFile` throws
 */
export async function promptOf(
  query: Pick<Query, 'parts'>,
  context: QueryContext,
  settings: PromptSettings,
): Promise<{ blocks: ContentBlock[]; notes: Envelope[] }> {
  const { text, notes } = await historyText(settings.history ?? [], context);
  const blocks: ContentBlock[] = text === undefined ? [] : [{ type: 'text', text }];
  for (const part of query.parts)
    blocks.push(
      part.type === 'text' ? { type: 'text', text: part.text } : await blockOf(part, context, settings),
    );
  return { blocks, notes };
}

async function blockOf(
  part: FilePart,
  context: QueryContext,
  settings: PromptSettings,
): Promise<ContentBlock> {
  const mimeType = await fileType(part);
  const { image, audio, embeddedContext } = membersOf(settings.capabilities);
  const medium = image === true && isPicture(mimeType) ? 'image' : undefined;
  const sound = audio === true && mimeType.startsWith('audio/') ? 'audio' : undefined;
  const type = medium ?? sound;
  if (type) return { type, mimeType, data: (await fileBytes(part)).toString('base64') };
  // Agents lose embedded files that are no text, without a word.
  if (settings.files === 'link' || !(await isTextFile(part))) return linkOf(part, mimeType, settings);
  return settings.files === 'embedded' && embeddedContext === true
    ? embedded(part, mimeType)
    : asText(part, context);
}

function isPicture(mimeType: string): boolean {
  // A drawing of text is a text in the eyes of models.
  return mimeType.startsWith('image/') && mimeType !== 'image/svg+xml';
}

async function linkOf(part: FilePart, mimeType: string, { keepFile }: PromptSettings): Promise<ContentBlock> {
  const uri = pathToFileURL(await keepFile(part)).href;
  return { type: 'resource_link', uri, name: part.name, mimeType, size: part.file.size };
}

async function embedded(part: FilePart, mimeType: string): Promise<ContentBlock> {
  // It names the file for the model: there is no such file on the disk.
  const uri = `attachment:${encodeURIComponent(part.name)}`;
  return { type: 'resource', resource: { uri, mimeType, text: await fileText(part) } };
}

async function asText(part: FilePart, context: QueryContext): Promise<ContentBlock> {
  const settings = { inputs: [], contextTokens: Infinity, history: [] };
  const { question } = await readConversation({ parts: [part] }, context, settings);
  return { type: 'text', text: question.map((each) => (each.type === 'text' ? each.text : '')).join('\n') };
}
