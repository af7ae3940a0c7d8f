/** A row of a table in docs/clients.md. */
export interface Client {
  name: string;
  /** What `--only` takes. */
  key: string;
  /** The packages whose versions the row has, by their names in the manifest of this folder. */
  packages: readonly string[];
  /** Its module in `asks`, and what that gets. */
  module: string;
  options?: Record<string, string>;
  /** Whether it needs Node 22. */
  isNewer?: boolean;
  /** What is set. Without it, the client is used as its README says. */
  settings: readonly string[];
  /** Where that is set, if it is not clear. */
  within?: string;
}

const ONE_RUN = { settings: ["headers: { 'Idempotency-Key': … }"], within: 'options of the call' };

/** Those of models and of frameworks for agents, whose address is that of `/v1`. */
export const MODELS: readonly Client[] = [
  ...(['openai', 'openai-7'] as const).flatMap((packageName) =>
    (['responses', 'chat'] as const).map((api) => ({
      name: `openai, ${api === 'chat' ? 'Chat Completions' : 'Responses'}${packageName === 'openai' ? '' : ' (7)'}`,
      key: `${packageName}-${api}`,
      packages: [packageName],
      module: 'openai',
      options: { packageName, api },
      isNewer: packageName === 'openai-7',
      ...ONE_RUN,
    })),
  ),
];
