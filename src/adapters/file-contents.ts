import { fileBytes, type FilePart, fileText, fileType, isTextFile, QueryError } from '../query/index.js';

/** A kind of files that a model may take as they are. */
type FileKind = 'image' | 'pdf' | 'audio' | 'video';

/** A kind of files that a model may take as they are, or one media type. */
export type ModelInput = FileKind | `${string}/${string}`;

/** The kinds of files that a model gets as they are, unless it is told otherwise. */
export const DEFAULT_INPUTS: readonly ModelInput[] = ['image', 'pdf', 'audio'];

/** A file as a model gets it: its bytes, or a text in its place. */
export type ModelFile =
  { type: 'bytes'; name: string; mimeType: string; bytes: Uint8Array } | { type: 'text'; text: string };

/** Says in a text what a file contains, for a model that cannot take the file itself. */
export type TextOfFile = (part: FilePart) => Promise<string>;

/** The most bytes of all files that one request to a model contains. */
const FILES_BYTES = 64 * 1024 * 1024;

/** The most characters of a file that a model gets as text. */
const TEXT_LENGTH = 256 * 1024;

/** Makes what a model gets of files. Use one for each run: it counts the bytes of all of them. */
export class FileContents {
  #bytes = 0;

  /**
   * @param inputs the kinds of files that the model takes
   * @param textOf says what is in any other file. Default: the text of a text file, and what the file is for any other
   */
  constructor(
    private readonly inputs: readonly ModelInput[],
    private readonly textOf: TextOfFile = plainTextOf,
  ) {}

  /** Whether there is room for so many bytes. */
  hasRoomFor(size: number): boolean {
    return this.#bytes + size <= FILES_BYTES;
  }

  /** @throws {QueryError} `limit_exceeded`: the file, or all files together, are too large for a model */
  async of(part: FilePart): Promise<ModelFile> {
    const mimeType = await fileType(part);
    const kind = kindOf(mimeType);
    if (!this.inputs.some((input) => input === kind || input === mimeType))
      return { type: 'text', text: framed(part, mimeType, await this.textOf(part)) };
    if (!this.hasRoomFor(part.file.size))
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

/** The text of a text file; of any other, that it has none. */
export async function plainTextOf(part: FilePart): Promise<string> {
  if (!(await isTextFile(part))) return 'The content of this file cannot be shown as text.';
  return fileText(part);
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
