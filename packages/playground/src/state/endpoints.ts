/** An agent that the page can ask. */
export interface Endpoint {
  /** Its path without `query`, for people. */
  name: string;
  /** The options of the client that lead to it. */
  baseUrl: string;
  path: string;
}

/** The endpoints that the service has written into the page, relative to the address of the page. */
export function endpointsOf(page: Document): Endpoint[] {
  const content = page.querySelector<HTMLMetaElement>('meta[name="endpoints"]')?.content ?? '';
  return content.split(' ').map((address) => {
    const { origin, pathname } = new URL(address, page.baseURI);
    const segments = pathname.split('/');
    const path = segments.pop()!;
    const name = address.replace(/^[./]+/, '').replace(/\/query$/, '');
    return { name, baseUrl: origin + segments.join('/'), path };
  });
}

/** The address of an endpoint. */
export function addressOf({ baseUrl, path }: Endpoint): string {
  return `${baseUrl}/${path}`;
}
