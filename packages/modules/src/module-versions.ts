import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The parameter that makes a version of a file a module of its own: Node never loads the same URL twice. */
const PARAMETER = 'agent-version';

/** A file that a version of a module consists of. */
export interface VersionFile {
  version: number;
  path: string;
  /** What the file was like before it was read. */
  fingerprint: string;
}

/** What the hooks of imports know. */
export interface ImportWatch {
  /** The folder with the code of the program. Two copies of it would not know each other's classes. */
  ownCode: string;
  /** Is told about each file of a version. */
  report: (file: VersionFile) => void;
}

/** The URL of a version of a file. */
export function urlOfVersion(href: string, version: number): string {
  const url = new URL(href);
  url.searchParams.set(PARAMETER, String(version));
  return url.href;
}

/** The version that a module belongs to; undefined if it is loaded once. */
export function versionOf(href: string | undefined): number | undefined {
  const version = href && URL.canParse(href) ? new URL(href).searchParams.get(PARAMETER) : null;
  return version === null ? undefined : Number(version);
}

/** Whether a module is reloaded. Packages are not, and neither is what comes with Node, or with the program. */
export function isReloaded(href: string, ownCode: string): boolean {
  return href.startsWith('file:') && !href.includes('/node_modules/') && !href.startsWith(ownCode);
}

/** The state of a file, which changes when its content does, or when another file takes its place. */
export function fingerprintOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : 'absent';
}

/**
 * The URL that an import of a version leads to.
 *
 * @param url what Node has found
 * @param parent the URL of the importing module
 */
export function resolvedUrl(
  url: string,
  parent: string | undefined,
  { ownCode, report }: ImportWatch,
): string {
  const version = versionOf(parent);
  if (version === undefined || !isReloaded(url, ownCode)) return url;
  const path = fileURLToPath(url);
  report({ version, path, fingerprint: fingerprintOf(path) });
  return urlOfVersion(url, version);
}

/** An import of a version leads to no file. The version is loaded again when the file is there. */
export function reportMissing(
  name: string,
  parent: string | undefined,
  { ownCode, report }: ImportWatch,
): void {
  const version = versionOf(parent);
  if (version === undefined || !/^(\.{0,2}\/|file:)/.test(name)) return;
  const { href } = new URL(name, parent);
  if (isReloaded(href, ownCode)) report({ version, path: fileURLToPath(href), fingerprint: 'absent' });
}
