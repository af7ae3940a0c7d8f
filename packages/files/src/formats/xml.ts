import { UnreadableFile } from '../unreadable-file.js';
import { decodeMarkup } from './encoding.js';

/** Elements inside one another, and attributes of one element, that are read. Documents of programs have far fewer. */
const DEEPEST = 1000;
const MAX_ATTRIBUTES = 1000;

/** Receives the events of an XML document while it is read. Names have no prefix. */
export interface XmlListener {
  open?(name: string, attributes: Record<string, string>): void;
  text?(text: string): void;
  close?(name: string): void;
  /** Whether the rest of the document need not be read. */
  isEnough?(): boolean;
}

/**
 * Reads XML as it arrives. Document types are not expanded. Names and attributes have at most 64 KiB, and a longer
 * text is passed on in pieces.
 *
 * @throws {UnreadableFile} if the XML is not well-formed, or nested too deeply, or an element has too many attributes
 */
export async function readXml(chunks: AsyncIterable<Uint8Array>, listener: XmlListener): Promise<void> {
  const { default: sax } = await import('sax');
  const parser = sax.parser(true, { position: false });
  let fault: Error | undefined;
  let depth = 0;
  let attributeCount = 0;
  parser.onerror = (error) => {
    fault ??= error;
  };
  parser.onattribute = () => {
    attributeCount += 1;
    // The parser keeps all attributes of a tag. It stops at once with what is thrown here.
    if (attributeCount > MAX_ATTRIBUTES) {
      throw new UnreadableFile(`An element of this document has more than ${MAX_ATTRIBUTES} attributes.`);
    }
  };
  parser.onopentag = ({ name, attributes }) => {
    attributeCount = 0;
    depth += 1;
    if (depth > DEEPEST) {
      throw new UnreadableFile(`The elements of this document are nested deeper than ${DEEPEST} levels.`);
    }
    listener.open?.(local(name), attributes as Record<string, string>);
  };
  parser.ontext = parser.oncdata = (text) => listener.text?.(text);
  parser.onclosetag = (name) => {
    depth -= 1;
    listener.close?.(local(name));
  };

  for await (const text of decodeMarkup(chunks)) {
    parser.write(text);
    if (fault) throw new UnreadableFile('This document is broken: the XML inside is not well-formed.');
    if (listener.isEnough?.()) return;
  }
  parser.close();
  if (fault) throw new UnreadableFile('This document is broken: the XML inside ends too early.');
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
