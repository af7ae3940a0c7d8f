import {
  fileBytes,
  type FilePart,
  fileText,
  fileType,
  isTextFile,
  type QueryContext,
  QueryError,
  type QueryPart,
  type Turn,
} from 'nest-agent-query';
import type { AnswerFile } from './answer-steps.js';

/** A kind of files that a model may take as they are. */
type FileKind = 'image' | 'pdf' | 'audio' | 'video';

/** A kind of files that a model may take as they are, or one media type. */
export type ModelInput = FileKind | `${string}/${string}`;

/** What a model is given of a caller: a text, or the bytes of a file. */
export type ModelPart =
  { type: 'text'; text: string } | { type: 'bytes'; name: string; mimeType: string; bytes: Uint8Array };

/** The most bytes of all files that one request to a model contains. */
const FILES_BYTES = 64 * 1024 * 1024;

/** The most characters of a file that a model gets as text. */
const TEXT_LENGTH = 256 * 1024;

/** Makes what a model gets of parts. Use one for each run: it counts the bytes of all files. */
export class PartReader {
  #bytes = 0;

  /**
   * @param inputs the kinds of files that the model takes
   * @param textOf says what is in any other file
   */
  constructor(
    private readonly context: QueryContext,
    private readonly inputs: readonly ModelInput[],
    private readonly textOf: (part: FilePart, context: QueryContext) => Promise<string> = plainTextOf,
  ) {}

  /**
   * @param showsFiles whether the model gets the files. If not, it gets a sentence in the place of each. Default true
   * @throws {QueryError} `limit_exceeded`: a file of the query, or all files together, are too large for a model
   */
  async read(parts: readonly (QueryPart | Turn['parts'][number])[], showsFiles = true): Promise<ModelPart[]> {
    const read: ModelPart[] = [];
    for (const part of parts) {
      if (part.type === 'text') read.push({ type: 'text', text: part.text });
      else if (!showsFiles) read.push(notShown(part));
      else read.push('file' in part ? await this.#file(part) : await this.earlierFile(part));
    }
    return read;
  }

  /** A file of an earlier turn; a text in its place if it is no longer kept, or there is no room for it. */
  async earlierFile(file: AnswerFile): Promise<ModelPart> {
    const part = await this.#keptFile(file);
    if (part && this.#hasRoomFor(part.file.size)) return this.#file(part);
    return notShown(file);
  }

  async #keptFile({ name, mimeType, sha256 }: AnswerFile): Promise<FilePart | undefined> {
    try {
      const file = await this.context.session?.file(sha256);
      return file && { type: 'file', name, mimeType, sha256, file };
    } catch (error) {
      if (error instanceof QueryError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  #hasRoomFor(size: number): boolean {
    return this.#bytes + size <= FILES_BYTES;
  }

  async #file(part: FilePart): Promise<ModelPart> {
    const mimeType = await fileType(part);
    const kind = kindOf(mimeType);
    if (!this.inputs.some((input) => input === kind || input === mimeType))
      return { type: 'text', text: framed(part, mimeType, await this.textOf(part, this.context)) };
    if (!this.#hasRoomFor(part.file.size))
      throw new QueryError(
        'limit_exceeded',
        `The files of a question to a model may have ${FILES_BYTES} bytes together. Send fewer, or smaller ones.`,
      );
    this.#bytes += part.file.size;
    return { type: 'bytes', name: part.name, mimeType, bytes: await fileBytes(part) };
  }
}

/** Which kind of files a media type belongs to; undefined for all that models do not take as they are. */
function kindOf(mimeType: string): FileKind | undefined {
  if (mimeType === 'application/pdf') return 'pdf';
  // It is a text in the eyes of models.
  if (mimeType === 'image/svg+xml') return undefined;
  return (['image', 'audio', 'video'] as const).find((kind) => mimeType.startsWith(`${kind}/`));
}

/**
 * The text of a text file; of any other, a sentence that it cannot be shown as text.
 *
 * @example
 * fromAiSdk(agent, { textOfFile: (part) => (isTable(part) ? tableText(part) : plainTextOf(part)) });
 */
export async function plainTextOf(part: FilePart): Promise<string> {
  if (!(await isTextFile(part))) return 'The content of this file cannot be shown as text.';
  return fileText(part);
}

function notShown({ name }: { name: string }): ModelPart {
  return { type: 'text', text: `[The file ${JSON.stringify(name)} is not shown again.]` };
}

function framed({ name }: FilePart, mimeType: string, text: string): string {
  const shown =
    text.length > TEXT_LENGTH
      ? `${text.slice(0, TEXT_LENGTH)}\n[The rest of the file is left out: it has ${text.length} characters.]`
      : text;
  // A caller must not write markup with the name of a file.
  const label = name.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<file name="${label}" type="${mimeType}">\n${shown}\n</file>`;
}
