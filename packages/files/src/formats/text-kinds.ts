import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import type { DescribeContained } from './contained-files.js';
import type { Encoding } from './code-pages.js';
import type { Findings } from './findings.js';
import { describeHtml, looksLikeHtml } from './html.js';
import { extensionOf, languageOf } from './languages.js';
import { describeMail, looksLikeMail } from './mail.js';
import { describeMailbox, looksLikeMailbox } from './mailbox.js';
import { describeNotebook } from './notebook.js';
import { describeRtf } from './rtf.js';
import { describeStructured } from './structured-text.js';
import { describeXml } from './describe-xml.js';

/** A file of text that may be of a kind with a reader of its own. */
export interface TextFile {
  file: FileSource;
  encoding: Encoding;
  /** How it begins, without white space before. */
  beginning: string;
}

/** Kinds of text that are more than lines. */
type Kind = 'RTF' | 'YAML' | 'TOML' | 'notebook' | 'HTML' | 'XML' | 'e-mail' | 'mailbox';

/** The kind of a text; undefined if it is none of them. @param beginning without white space before */
export function kindOfText(label: { name: string; mimeType: string }, beginning: string): Kind | undefined {
  if (beginning.startsWith('{\\rtf')) return 'RTF';
  const language = languageOf(label.name)?.name;
  const extension = extensionOf(label.name);
  const declared = language ? '' : label.mimeType.split(';')[0]!.trim().toLowerCase();
  if (language === 'YAML' || /^(application|text)\/(x-)?yaml$/.test(declared)) return 'YAML';
  if (language === 'TOML' || declared === 'application/toml') return 'TOML';
  if (extension === 'ipynb' || declared === 'application/x-ipynb+json') return 'notebook';
  if (language === 'HTML' || declared === 'text/html') return 'HTML';
  if (language === 'XML') return 'XML';
  if (language) return undefined;
  const isMail = ['eml', 'mht', 'mhtml'].includes(extension) || declared === 'message/rfc822';
  if (isMail || looksLikeMail(beginning)) return 'e-mail';
  if (looksLikeMailbox(beginning)) return 'mailbox';
  if (looksLikeHtml(beginning)) return 'HTML';
  return beginning.startsWith('<?xml ') ? 'XML' : undefined;
}

/** Describes a text of one of the kinds that are more than lines; undefined if it is none of them. */
export function describeTextKind(
  { file, encoding, beginning }: TextFile,
  limits: FilesLimits,
  describe: DescribeContained,
): Findings | undefined {
  const readers: Record<Kind, () => Findings> = {
    RTF: () => describeRtf(file),
    YAML: () => describeStructured(file, encoding, 'YAML'),
    TOML: () => describeStructured(file, encoding, 'TOML'),
    notebook: () => describeNotebook(file),
    HTML: () => describeHtml(file, encoding),
    XML: () => describeXml(file, encoding),
    'e-mail': () => describeMail(file, limits, describe),
    mailbox: () => describeMailbox(file, limits, describe),
  };
  const kind = kindOfText(file, beginning);
  return kind && readers[kind]();
}
