import type { Exchange, SentQuery } from '../state/wire.js';

/** The headers that a browser sets by itself, or that curl does. */
const OWN = ['accept-encoding', 'user-agent', 'host'];

/** A request as a command for a shell. */
export function asCurl({ method, url, headers, body, query }: Exchange): string {
  const isStream = headers.some(
    ([name, value]) => name.toLowerCase() === 'accept' && value.includes('event-stream'),
  );
  const options = headers
    .filter(([name]) => !OWN.includes(name.toLowerCase()))
    .map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const isImplied = method === 'GET' || (method === 'POST' && (body !== undefined || query));
  const words = [
    `curl${isStream ? ' -N' : ''}${isImplied ? '' : ` -X ${method}`} ${quoted(url)}`,
    ...options,
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
    ...(query ? ['-d @- <<QUERY'] : []),
  ];
  return words.join(' \\\n  ') + (query ? `\n${documentOf(query)}\nQUERY` : '');
}

/** The body of a query with files, for a here-document: the shell puts the contents in. */
function documentOf({ text, files, kwargs }: SentQuery): string {
  const parts = [
    ...(text === '' ? [] : [inDocument(JSON.stringify({ type: 'text', text }))]),
    ...files.map(({ name, mimeType }) => {
      const head = inDocument(JSON.stringify({ type: 'file', name, mimeType }).slice(0, -1));
      return `${head},"base64":"$(base64 < ${quoted(name)} | tr -d '\\n')"}`;
    }),
  ];
  return `{"parts":[${parts.join(',')}],"kwargs":${inDocument(JSON.stringify(kwargs))}}`;
}

function inDocument(text: string): string {
  return text.replace(/[\\$`]/g, '\\$&');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
