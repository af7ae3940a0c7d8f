/** The routes of a view, as the `paths` of an OpenAPI document: by path and method. */
export type ViewPaths = Record<string, Record<string, object>>;

/** One route. */
interface Route {
  summary: string;
  /** The content types that its body may have. Default: it has none. */
  body?: string[];
  /** The content types of its answer. Default: the answer is 204. */
  answer?: string[];
  /** The names of its parameters in the query of the address. Default: none. */
  query?: string[];
  /** What 204 means, where the answer may be empty. */
  empty?: string;
  /** Whether it needs no credential. Default false. */
  isPublic?: true;
}

export const JSON_TYPE = 'application/json';
export const EVENTS = 'text/event-stream';

/**
 * @param prefix of all paths: empty, or such as `/research`
 * @param tag of all routes
 * @param refusal the content type of refusals
 * @param routes by method and path, such as `GET /v1/models`
 */
export function pathsOf(
  prefix: string,
  tag: string,
  refusal: string,
  routes: Record<string, Route>,
): ViewPaths {
  const paths: ViewPaths = {};
  for (const [route, { summary, body, answer, query = [], empty, isPublic }] of Object.entries(routes)) {
    const [method, own] = route.split(' ') as [string, string];
    const path = prefix + own;
    const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => parameterOf('path', name!));
    const parameters = [...inPath, ...query.map((name) => parameterOf('query', name))];
    (paths[path] ??= {})[method.toLowerCase()] = {
      operationId: (method.toLowerCase() + path).replace(/[^\w-]+/g, '_'),
      summary,
      tags: [tag],
      ...(isPublic && { security: [] }),
      ...(parameters.length > 0 && { parameters }),
      ...(body && { requestBody: { required: true, content: contentOf(body) } }),
      responses: {
        ...(answer && { 200: { description: 'The answer.', content: contentOf(answer) } }),
        ...((empty ?? !answer) && { 204: { description: empty ?? 'It is done.' } }),
        default: { description: 'A refusal.', content: contentOf([refusal]) },
      },
    };
  }
  return paths;
}

function parameterOf(place: 'path' | 'query', name: string): object {
  return { name, in: place, required: place === 'path', schema: { type: 'string' } };
}

function contentOf(types: string[]): object {
  const schemaOf = (type: string) => ({ type: type === EVENTS ? 'string' : 'object' });
  return Object.fromEntries(types.map((type) => [type, { schema: schemaOf(type) }]));
}
