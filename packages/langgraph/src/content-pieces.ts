import { Buffer } from 'node:buffer';
import { fileName } from 'nest-agent-query-adapters';

/** A block of the content of a message. Providers and versions of LangChain have several forms of each. */
export type Block = Record<string, unknown>;

/** What this file reads of a message. */
export interface ContentMessage {
  content: string | Block[];
  /** The content in the standard form of LangChain. */
  contentBlocks?: Block[];
  additional_kwargs?: Record<string, unknown>;
}

export interface FilePiece {
  type: 'file';
  name: string;
  mimeType: string;
  bytes: Uint8Array;
}

/** A part of what a message says. */
export type Piece =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'source'; url: string; title: string | undefined }
  | FilePiece;

/** Whether the content is nothing but a text, as that of most chunks. */
export function isPlain({ content, additional_kwargs: kwargs }: ContentMessage): boolean {
  if (typeof content !== 'string') return false;
  return kwargs === undefined || !('reasoning_content' in kwargs || 'reasoning' in kwargs);
}

/** The parts of a message in their order. */
export function piecesOf(message: ContentMessage): Piece[] {
  const { content, contentBlocks } = message;
  if (isPlain(message)) return [{ type: 'text', text: content as string }];
  const beside = reasoningBeside(message);
  if (beside !== undefined && typeof content === 'string')
    return [
      { type: 'reasoning', text: beside },
      { type: 'text', text: content },
    ];
  const pieces = (contentBlocks ?? (content as Block[])).flatMap(piecesOfBlock);
  const isKnown = beside === undefined || pieces.some(({ type }) => type === 'reasoning');
  return isKnown ? pieces : [{ type: 'reasoning', text: beside }, ...pieces];
}

/** The file that a block contains, if it contains one. */
export function fileOfBlock(block: Block): FilePiece | undefined {
  const { type, data, url, image_url: image } = block;
  const imageUrl = typeof image === 'object' && image !== null ? (image as Block)['url'] : image;
  const dataUrl = [url, imageUrl, data].find(isDataUrl);
  const parts = dataUrl === undefined ? undefined : /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(dataUrl);
  if (parts) return filePiece(block, parts[1]!, Buffer.from(parts[2]!, 'base64'));
  if (typeof type !== 'string' || !['image', 'audio', 'video', 'file'].includes(type)) return undefined;
  const given = block['mimeType'] ?? block['mime_type'];
  const mimeType = typeof given === 'string' ? given : 'application/octet-stream';
  if (typeof data === 'string') return filePiece(block, mimeType, Buffer.from(data, 'base64'));
  return data instanceof Uint8Array ? filePiece(block, mimeType, data) : undefined;
}

/** The reasoning that some providers put beside the content. */
function reasoningBeside({ additional_kwargs: kwargs }: ContentMessage): string | undefined {
  const reasoning = kwargs?.['reasoning_content'] ?? kwargs?.['reasoning'];
  return typeof reasoning === 'string' ? reasoning : undefined;
}

function piecesOfBlock(block: Block): Piece[] {
  const { type } = block;
  if (type === 'text' || type === 'text-plain')
    return [...textPiece('text', block['text']), ...sourcesOf(block['annotations'] ?? block['citations'])];
  if (type === 'reasoning') return textPiece('reasoning', block['reasoning']);
  if (type === 'thinking') return textPiece('reasoning', block['thinking']);
  if (type === 'refusal') return textPiece('text', block['refusal']);
  if (type === 'citation') return sourcesOf([block]);
  const file = fileOfBlock(block);
  return file ? [file] : [];
}

function textPiece(type: 'text' | 'reasoning', text: unknown): Piece[] {
  return typeof text === 'string' && text !== '' ? [{ type, text }] : [];
}

function sourcesOf(citations: unknown): Piece[] {
  if (!Array.isArray(citations)) return [];
  return (citations as unknown[]).flatMap((citation) => {
    const { url, title } = (citation ?? {}) as Block;
    if (typeof url !== 'string' || url === '') return [];
    return [{ type: 'source' as const, url, title: typeof title === 'string' ? title : undefined }];
  });
}

function isDataUrl(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('data:');
}

function filePiece(block: Block, mimeType: string, bytes: Uint8Array): FilePiece {
  const metadata = (block['metadata'] ?? {}) as Block;
  const names = [block['name'], block['filename'], metadata['filename'], metadata['name'], metadata['title']];
  const name = names.find((value): value is string => typeof value === 'string' && value !== '');
  const type = MEDIA_TYPE.test(mimeType) ? mimeType : 'application/octet-stream';
  return { type: 'file', name: fileName(type, name, kindOf(type)), mimeType: type, bytes };
}

/** The type of the block of a file, which is also the name of one that has none. */
export function kindOf(mimeType: string): string {
  return /^(?:image|audio|video)(?=\/)/.exec(mimeType)?.[0] ?? 'file';
}

const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/;
