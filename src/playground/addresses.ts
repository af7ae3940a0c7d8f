/**
 * Writes a path of the application relative to the address of the page, so that it holds behind every prefix and proxy.
 *
 * @param sent the path of the page as the browser sent it: it may begin with prefixes, and end with a slash
 * @param own the path of the page under the prefixes, such as `playground`; empty for the root
 * @param target the other path under the prefixes
 */
export function relativeAddress(sent: string, own: string, target: string): string {
  const segments = own === '' ? 0 : own.split('/').length;
  // A browser leaves out the last segment of a path that does not end with a slash.
  if (sent.endsWith('/')) return './' + '../'.repeat(segments) + target;
  if (segments > 0) return './' + '../'.repeat(segments - 1) + target;
  return `./${sent.split('/').at(-1)}/${target}`;
}

/** A path without slashes at its ends. */
export function trimmedPath(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}
