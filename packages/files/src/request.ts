import { labelOf } from './formats/code-pages.js';

/**
 * The requests that the text of a query may consist of. Key words may be in capitals. White space around is ignored.
 *
 *     request   = sql | writing | find | pages | sheet | entry | whole | encoding
 *     sql       = statement [ ";" ] [ "as" form ]  |  [ "export" ] table "as" form
 *     form      = "csv" | "json" | "parquet" | "chart"
 *     statement = "select" …  |  "with" name "as (" …  |  "show tables"
 *               | ( "describe" | "summarize" ) ( table | "select" … )
 *     writing   = a statement such as "delete from" table …, which is not executed
 *     find      = "find" ( quoted words | one word )
 *     pages     = "page" number [ of ]  |  "pages" number "-" number [ of ]
 *     sheet     = "sheet" name [ of ]
 *     entry     = "entry" path [ of ]
 *     whole     = ( "describe" | "outline" | "text" ) [ of ]
 *     encoding  = "encoding" its name [ of ]
 *     of        = "of" the name of a file with its extension
 *
 * A name or a path may be in quotes. `describe this` and `summarize it` are ordinary English: `this`, `it` and similar words
 * are not taken for tables. Any other text is no request.
 */

/** What a text requests. `of` names the file; without it, all files of the query or of its session are meant: see `answerRequests`. */
export type FilesRequest =
  | { kind: 'sql'; statement: string; as: ResultForm }
  | { kind: 'find'; words: string }
  | { kind: 'pages'; first: number; last: number; of?: string }
  | { kind: 'sheet'; name: string; of?: string }
  | { kind: 'entry'; path: string; of?: string }
  | { kind: 'describe'; encoding?: string; of?: string }
  | { kind: 'outline' | 'text'; of?: string }
  | { kind: 'writing' };

/** How the rows that a statement returns are shown: in the text of the answer, or as a file. */
export type ResultForm = 'table' | 'csv' | 'json' | 'parquet' | 'chart';

/** The answer to a statement that does something else. */
export const ONLY_READING =
  'Only one statement that reads is executed: `select`, `with`, `describe` or `summarize`. Nothing is changed.';

/** The most characters of a request. A longer text is not read as a request. */
const LONGEST = 20_000;

const QUOTES = new Map(['""', "''", '“”', '„“', '«»'].map(([open, close]) => [open!, close!]));
/** What may follow a statement. The expression begins nowhere within a run: it would read the rest of the run each time. */
const END = /(?<![;\s])[;\s]+$/;
const NAME = String.raw`(?:"[^"]+"|[\p{L}_][\p{L}\p{N}_.]*)`;
const EXPORT = new RegExp(
  String.raw`^(?:export\s+)?("[^"]+"|[\p{L}_][\p{L}\p{N}_]*)\s+as\s+(csv|json|parquet|chart)$`,
  'iu',
);
const WRITING = new RegExp(
  '^(?:' +
    [
      String.raw`delete\s+from\s+${NAME}(?:\s+(?:where|using|returning)\s.*)?`,
      String.raw`truncate\s+(?:table\s+)?${NAME}`,
      String.raw`update\s+${NAME}\s+set\s+${NAME}\s*=.*`,
      String.raw`insert\s+into\s+${NAME}\s*(?:\(|values\b|select\b).*`,
      String.raw`drop\s+(?:table|view)\s+(?:if\s+exists\s+)?${NAME}`,
      String.raw`alter\s+table\s+${NAME}\s+(?:add|drop|rename|alter)\s.*`,
      String.raw`create\s+(?:or\s+replace\s+)?(?:temp\s+)?(?:table|view)\s+${NAME}\s*(?:\(|as\s).*`,
      String.raw`copy\s+${NAME}\s+(?:to|from)\s+'.*`,
    ].join('|') +
    ')$',
  'isu',
);
const PRONOUNS = /^(it|this|that|these|those|them|all|everything|the|my|please|file|files|table|tables)$/i;

/** The request that a text consists of; undefined if it is another text. */
export function parseRequest(text: string): FilesRequest | undefined {
  const line = text.trim();
  if (line.length > LONGEST) return undefined;
  return parseSql(line) ?? parseExport(line) ?? parseWriting(line) ?? parseFind(line) ?? parsePart(line);
}

function parseSql(line: string): FilesRequest | undefined {
  if (!/^(?:select|with|show|describe|summarize)\s/i.test(line)) return undefined;
  const whole = line.replace(END, '');
  const [ending = '', form = 'table'] = /\bas\s+(csv|json|parquet|chart)$/i.exec(whole) ?? [];
  const statement = whole.slice(0, whole.length - ending.length).replace(END, '');
  return isStatement(statement)
    ? { kind: 'sql', statement, as: form.toLowerCase() as ResultForm }
    : undefined;
}

function parseExport(line: string): FilesRequest | undefined {
  const [, table = '', form = ''] = EXPORT.exec(line.replace(END, '')) ?? [];
  if (table === '' || PRONOUNS.test(table)) return undefined;
  const name = table.startsWith('"') ? table : `"${table}"`;
  return { kind: 'sql', statement: `select * from ${name}`, as: form.toLowerCase() as ResultForm };
}

/** Only statements of SQL: `update the numbers` is English. */
function parseWriting(line: string): FilesRequest | undefined {
  return WRITING.test(line.replace(END, '')) ? { kind: 'writing' } : undefined;
}

function isStatement(text: string): boolean {
  if (/^(select\s|show\s+tables$|(describe|summarize)\s+select\s)/is.test(text)) return true;
  if (
    /^with\s+(recursive\s+)?("[^"]+"|[\p{L}\p{N}_]+)\s*(\([^)]*\)\s*)?as\s*(not\s+)?(materialized\s*)?\(/iu.test(
      text,
    )
  )
    return true;
  const [, table] = /^(?:describe|summarize)\s+("[^"]+"|[\p{L}_][\p{L}\p{N}_]*)$/iu.exec(text) ?? [];
  return table !== undefined && !PRONOUNS.test(table);
}

function parseFind(line: string): FilesRequest | undefined {
  const [, rest] = /^find\s+(.+)$/is.exec(line) ?? [];
  if (rest === undefined) return undefined;
  const words = unquoted(rest).trim();
  if (words === '' || (words === rest && /\s/.test(words))) return undefined;
  return { kind: 'find', words };
}

function parsePart(line: string): FilesRequest | undefined {
  const [, word = '', rest = ''] =
    /^(pages?|sheet|entry|describe|outline|text|encoding)\b\s*(\S.*)?$/i.exec(line) ?? [];
  const { what, ...of } = splitOf(rest);
  switch (word.toLowerCase()) {
    case 'page':
    case 'pages': {
      const [, first, last = first] = /^(\d{1,7})(?:\s*[-–]\s*(\d{1,7}))?$/.exec(what) ?? [];
      return first === undefined
        ? undefined
        : { kind: 'pages', first: Number(first), last: Number(last), ...of };
    }
    case 'sheet':
      return what === '' ? undefined : { kind: 'sheet', name: unquoted(what), ...of };
    case 'entry':
      return what === '' ? undefined : { kind: 'entry', path: unquoted(what), ...of };
    case 'describe':
    case 'outline':
    case 'text':
      return what === '' ? { kind: word.toLowerCase() as 'describe', ...of } : undefined;
    case 'encoding': {
      const encoding = labelOf(unquoted(what));
      return encoding === undefined ? undefined : { kind: 'describe', encoding, ...of };
    }
    default:
      return undefined;
  }
}

/** `3 of a report.pdf` names a file; `Terms of payment` does not. */
function splitOf(text: string): { what: string; of?: string } {
  const [, what = '', of = ''] = /^(.*)\bof\s+(\S.*)$/is.exec(text) ?? [];
  const name = unquoted(of.trim());
  return /\.[^.\s]{1,20}$/.test(name) ? { what: what.trim(), of: name } : { what: text.trim() };
}

function unquoted(text: string): string {
  const close = QUOTES.get(text[0] ?? '');
  return text.length > 1 && close !== undefined && text.endsWith(close) ? text.slice(1, -1) : text;
}
