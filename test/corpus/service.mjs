import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Service } from '../clients/service.mjs';

const MIME_TYPE = 'application/octet-stream';

/** The built service with its own agent. */
export class FilesService extends Service {
  static start() {
    return super.start({ AGENT: 'files' });
  }

  /**
   * Sends a file, without its type, for questions about it.
   *
   * @returns what `ask` takes
   */
  async send(path) {
    const body = await readFile(path);
    const headers = { 'content-type': MIME_TYPE };
    const response = await fetch(`${this.url}/query/files`, { method: 'POST', headers, body });
    if (response.status !== 201) throw new Error(await response.text());
    const { sha256 } = await response.json();
    return { type: 'file', name: basename(path), mimeType: MIME_TYPE, sha256 };
  }

  /**
   * @param request the text of the query; without it, the file is described
   * @returns the text of the answer, its file as JSON, and the seconds that it took
   */
  async ask(file, request) {
    const began = performance.now();
    const parts = [...(request ? [{ type: 'text', text: request }] : []), file];
    const response = await fetch(`${this.url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ parts }),
    });
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data:'));
    const envelopes = lines.map((line) => JSON.parse(line.slice('data:'.length)));
    const seconds = (performance.now() - began) / 1000;
    const { status, error } = envelopes.at(-1)?.data ?? { error: { message: `HTTP ${response.status}` } };
    if (status !== 'completed') throw new Error(`${request ?? 'The description'}: ${error?.message}`);
    const text = envelopes.map(({ type, data }) => (type === 'message' ? data.content : '')).join('');
    const path = envelopes.find(({ type }) => type === 'file')?.data.path;
    return { text, value: path && (await (await fetch(this.url + path)).json()), seconds };
  }
}
