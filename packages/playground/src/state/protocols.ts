/** The protocols in which the service may show runs: what people call them, and where they show one. */
export const PROTOCOLS = {
  'ai-sdk': { label: 'AI SDK', path: (run: string) => `/ai/chat/${run}/stream?startIndex=0` },
  'ag-ui': { label: 'AG-UI', path: (run: string) => `/ag-ui?runId=${run}&offset=-1` },
  openai: { label: 'OpenAI', path: (run: string) => `/v1/responses/resp_${run}?stream=true` },
} as const;

export type ProtocolName = keyof typeof PROTOCOLS;

/** The protocols that the service has written into the page. */
export function protocolsOf(page: Document): ProtocolName[] {
  const written = page.querySelector<HTMLMetaElement>('meta[name="protocols"]')?.content ?? '';
  return (Object.keys(PROTOCOLS) as ProtocolName[]).filter((name) => written.split(' ').includes(name));
}
