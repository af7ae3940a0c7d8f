import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import type { DescribeContained } from './contained-files.js';
import type { Encoding } from './encoding.js';
import type { Findings } from './findings.js';
import { describeHtml, looksLikeHtml } from './html.js';
import { extensionOf, languageOf } from './languages.js';
import { describeMail, looksLikeMail } from './mail.js';
import { describeNotebook } from './notebook.js';
import { describeRtf } from './rtf.js';
import { describeStructured } from './structured-text.js';

/** A file of text that may be of a kind with a reader of its own. */
export interface TextFile {
  file: FileSource;
  encoding: Encoding;
  /** How it begins, without white space before. */
  beginning: string;
}

/** Describes a text of one of the kinds that are more than lines; undefined if it is none of them. */
export function describeTextKind(
  { file, encoding, beginning }: TextFile,
  limits: FilesLimits,
  describe: DescribeContained,
): Findings | undefined {
  if (beginning.startsWith('{\\rtf')) return describeRtf(file);
  const language = languageOf(file.name)?.name;
  const extension = extensionOf(file.name);
  const declared = language ? '' : file.mimeType.split(';')[0]!.trim().toLowerCase();
  if (language === 'YAML' || /^(application|text)\/(x-)?yaml$/.test(declared)) {
    return describeStructured(file, encoding, 'YAML');
  }
  if (language === 'TOML' || declared === 'application/toml') {
    return describeStructured(file, encoding, 'TOML');
  }
  if (extension === 'ipynb' || declared === 'application/x-ipynb+json') return describeNotebook(file);
  if (language === 'HTML' || declared === 'text/html') return describeHtml(file, encoding);
  if (language) return undefined;
  const isMail = ['eml', 'mht', 'mhtml'].includes(extension) || declared === 'message/rfc822';
  if (isMail || looksLikeMail(beginning)) return describeMail(file, limits, describe);
  return looksLikeHtml(beginning) ? describeHtml(file, encoding) : undefined;
}
