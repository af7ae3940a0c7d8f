import { AgentQueryClient } from 'nest-agent-query-client';
import type { ApiKey } from './api-key.js';
import type { Endpoint } from './endpoints.js';
import type { QuestionFile } from './turn.js';
import { Wire } from './wire.js';

/** Calls of one endpoint, which are recorded. */
export class Calls {
  readonly client: AgentQueryClient;
  readonly wire: Wire;

  constructor(
    endpoint: Endpoint,
    private readonly key: ApiKey,
  ) {
    const { baseUrl, path } = endpoint;
    const headers = () => key.headers;
    this.wire = new Wire(endpoint, headers);
    this.client = new AgentQueryClient({ baseUrl, path, headers, fetch: this.wire.fetch });
  }

  /** Does something that may need the API key. */
  during<T>(action: () => Promise<T>): Promise<T> {
    return this.key.during(action);
  }

  /** Reads a file of an answer or of a question. */
  async content(
    runId: string,
    { sha256, mimeType }: Pick<QuestionFile, 'sha256' | 'mimeType'>,
  ): Promise<Blob> {
    if (sha256 === undefined) throw new Error('This window does not have them any more.');
    const response = await this.during(() => this.client.file(runId, sha256));
    return new Blob([await response.arrayBuffer()], { type: mimeType });
  }

  /** A file of a question that can be sent again. @param runId the run that it was sent with */
  async withContent(file: QuestionFile, runId: string | undefined): Promise<QuestionFile> {
    return file.content ? file : { ...file, content: await this.content(runId!, file) };
  }

  /** @param range a range of bytes, such as `bytes=0-9` */
  async text(runId: string, sha256: string, range?: string): Promise<string> {
    const response = await this.during(() => this.client.file(runId, sha256, { range }));
    return response.text();
  }
}
