/** How the page shows a run in a protocol. */
interface ShownProtocol {
  /** What people call it. */
  label: string;
  /** Where it shows the run. */
  path: (run: string) => string;
  /** What its requests need besides. Default: nothing. */
  headers?: (run: string) => Record<string, string>;
}

export type ProtocolName = 'ai-sdk' | 'ag-ui' | 'openai' | 'a2a';

/** The protocols in which the service may show runs. */
export const PROTOCOLS: Record<ProtocolName, ShownProtocol> = {
  'ai-sdk': { label: 'AI SDK', path: (run) => `/ai/chat/${run}/stream?startIndex=0` },
  'ag-ui': { label: 'AG-UI', path: (run) => `/ag-ui?runId=${run}&offset=-1` },
  openai: { label: 'OpenAI', path: (run) => `/v1/responses/resp_${run}?stream=true` },
  a2a: {
    label: 'A2A',
    path: (run) => `/a2a/tasks/${run}:subscribe`,
    headers: (run) => ({ 'A2A-Version': '1.0', 'Last-Event-ID': `${run}.0` }),
  },
};

/** The protocols that the service has written into the page. */
export function protocolsOf(page: Document): ProtocolName[] {
  const written = page.querySelector<HTMLMetaElement>('meta[name="protocols"]')?.content ?? '';
  return (Object.keys(PROTOCOLS) as ProtocolName[]).filter((name) => written.split(' ').includes(name));
}
