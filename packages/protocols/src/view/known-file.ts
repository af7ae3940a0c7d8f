/** The path of a file of an earlier query or answer: it ends with the digest of the content. */
const FILE_PATH = /\/[\w-]{1,100}\/files\/([\da-f]{64})$/;

/** The digest of a content that a URL of this service names. Undefined for any other value: nothing is fetched. */
export function digestIn(url: unknown): string | undefined {
  return typeof url === 'string' ? FILE_PATH.exec(url)?.[1] : undefined;
}

/** The path of a file of a query. @param base the path of the endpoint */
export function filePath(base: string, runId: string, sha256: string): string {
  return `${base}/${runId}/files/${sha256}`;
}
