import { UnreadableFile } from '../unreadable-file.js';
import { decodeMarkup } from './encoding.js';

/** Elements inside one another, and attributes of one element, that are read. Documents of programs have far fewer. */
const DEEPEST = 1000;
const MAX_ATTRIBUTES = 1000;
const MAX_PREFIXES = 100;

/** The usual prefixes of the namespaces whose attributes are read. A document may have other prefixes for them. */
const PREFIXES = new Map([
  ['http://schemas.openxmlformats.org/officeDocument/2006/relationships', 'r'],
  ['http://purl.oclc.org/ooxml/officeDocument/relationships', 'r'],
  ['http://schemas.openxmlformats.org/wordprocessingml/2006/main', 'w'],
  ['http://purl.oclc.org/ooxml/wordprocessingml/main', 'w'],
  ['http://www.idpf.org/2007/ops', 'epub'],
  ['urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0', 'calcext'],
]);
const OPEN_DOCUMENT = /^urn:oasis:names:tc:opendocument:xmlns:([a-z]+):1\.0$/;

/** Receives the events of an XML document while it is read. Names of elements have no prefix, attributes the usual one. */
export interface XmlListener {
  /** @param tag the name with its prefix */
  open?(name: string, attributes: Record<string, string>, tag?: string): void;
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
export function readXml(chunks: AsyncIterable<Uint8Array>, listener: XmlListener): Promise<void> {
  return readXmlText(decodeMarkup(chunks), listener);
}

/** The same for XML that has been decoded. */
export async function readXmlText(pieces: AsyncIterable<string>, listener: XmlListener): Promise<void> {
  const { default: sax } = await import('sax');
  const parser = sax.parser(true, { position: false });
  let fault: Error | undefined;
  let depth = 0;
  let attributeCount = 0;
  const usual = new Map<string, string>();
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
    listener.open?.(local(name), withUsualPrefixes(attributes as Record<string, string>, usual), name);
  };
  parser.ontext = parser.oncdata = (text) => listener.text?.(text);
  parser.onclosetag = (name) => {
    depth -= 1;
    listener.close?.(local(name));
  };

  for await (const text of pieces) {
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

/** Attributes with the usual prefixes. @param usual for each other prefix that was declared up to here */
function withUsualPrefixes(
  attributes: Record<string, string>,
  usual: Map<string, string>,
): Record<string, string> {
  // Not as entries: a sheet has millions of elements.
  for (const name in attributes) {
    if (!name.startsWith('xmlns:')) continue;
    const uri = attributes[name]!;
    const prefix = OPEN_DOCUMENT.exec(uri)?.[1] ?? PREFIXES.get(uri);
    if (prefix && prefix !== local(name) && usual.size < MAX_PREFIXES) usual.set(local(name), prefix);
  }
  if (usual.size === 0) return attributes;
  const renamed = (name: string) => name.replace(/^[^:]+(?=:)/, (prefix) => usual.get(prefix) ?? prefix);
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [renamed(name), value]));
}
