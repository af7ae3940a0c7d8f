import { type Block, fileOfBlock, type FilePiece } from './content-pieces.js';

/** What a tool has returned, and the files in it. */
export interface ToolContent {
  content: unknown;
  files: FilePiece[];
}

/**
 * Reads the content of a tool message. LangChain writes the objects that tools return as JSON; here they are objects again. A file
 * is replaced by its name and type.
 */
export function toolContentOf(content: string | Block[]): ToolContent {
  if (typeof content === 'string') return { content: valueOf(content), files: [] };
  if (content.every(({ type }) => type === 'text'))
    return { content: valueOf(content.map(({ text }) => String(text)).join('')), files: [] };
  const files: FilePiece[] = [];
  const blocks = content.map((block) => {
    const file = fileOfBlock(block);
    if (!file) return block;
    files.push(file);
    return { type: 'file', name: file.name, mimeType: file.mimeType };
  });
  return { content: blocks, files };
}

/** Undoes `toolContentOf`, as far as models read it. */
export function toolText(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}

function valueOf(text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
