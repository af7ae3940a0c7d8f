/** The extension of a file without a name: media types such as `image/png` end with what is a common extension. */
export function extensionOf(mimeType: unknown): string {
  const [, extension = 'bin'] = /^\w+\/(?:x-)?(\w{1,8})(?:$|[+;])/.exec(String(mimeType)) ?? [];
  return extension;
}
