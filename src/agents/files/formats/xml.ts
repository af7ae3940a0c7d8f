import { UnreadableFile } from '../unreadable-file.js';

/** Receives the events of an XML document while it is read. Names have no prefix. */
export interface XmlListener {
  open?(name: string, attributes: Record<string, string>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/**
 * Reads UTF-8 XML as it arrives. Document types are not expanded. Names and attributes have at most 64 KiB, and a longer
 * text is passed on in pieces.
 *
 * @throws {UnreadableFile} if the XML is not well-formed
 */
export async function readXml(chunks: AsyncIterable<Uint8Array>, listener: XmlListener): Promise<void> {
  const { default: sax } = await import('sax');
  const parser = sax.parser(true, { position: false });
  let fault: Error | undefined;
  parser.onerror = (error) => {
    fault ??= error;
  };
  parser.onopentag = ({ name, attributes }) => {
    const plain: Record<string, string> = {};
    for (const [key, value] of Object.entries(attributes)) plain[key] = String(value);
    listener.open?.(local(name), plain);
  };
  parser.ontext = parser.oncdata = (text) => listener.text?.(text);
  parser.onclosetag = (name) => listener.close?.(local(name));

  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    parser.write(decoder.decode(chunk, { stream: true }));
    if (fault) throw new UnreadableFile('This document is broken: the XML inside is not well-formed.');
  }
  parser.close();
  if (fault) throw new UnreadableFile('This document is broken: the XML inside ends too early.');
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
