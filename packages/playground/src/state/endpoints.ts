/** An agent that the page can ask. */
export interface Endpoint {
  /** For people: what the service calls it, or else its path. */
  name: string;
  /** The options of the client that lead to it. */
  baseUrl: string;
  path: string;
}

/** The endpoints that the service has written into the page, relative to the address of the page. */
export function endpointsOf(page: Document): Endpoint[] {
  const written = (name: string) =>
    page.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
  return written('endpoints')
    .split(' ')
    .map((address) => {
      const { origin, pathname } = new URL(address, page.baseURI);
      const segments = pathname.split('/');
      const path = segments.pop()!;
      const short = address.replace(/^[./]+/, '').replace(/\/query$/, '');
      const name = written('agent') || (short === 'query' ? pathname : short);
      return { name, baseUrl: origin + segments.join('/'), path };
    });
}

/** The address of an endpoint. */
export function addressOf({ baseUrl, path }: Endpoint): string {
  return `${baseUrl}/${path}`;
}
