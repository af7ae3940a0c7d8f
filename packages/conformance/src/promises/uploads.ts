import { createHash } from 'node:crypto';
import type { Caller } from '../caller.js';
import { promisesOf } from '../promise.js';
import { say, type SentFile } from '../script.js';
import { equal, has, holds } from '../unmet.js';
import { otherOwner } from './access.js';
import { refused } from './refusals.js';

const NAME = 'résumé 你.bin';
const TYPE = 'application/x-conformance';
const DISPOSITION = `attachment; filename*=UTF-8''${encodeURIComponent(NAME)}`;

/** Files that are sent before their query. */
export const UPLOADS = promisesOf(
  'files',
  {
    sent: [
      '2.17',
      'POST of the bytes of a file to /files is 201 with its sha256, size, name, mimeType and when it expires.',
      (caller) => send(caller, contentOf(caller)),
    ],
    'sent-form': [
      '2.17',
      'A form with one file (multipart/form-data) is kept in the same way; its other fields are ignored.',
      async (caller) => {
        const content = contentOf(caller);
        const fields = [
          'name="note"\r\n\r\nfor nobody',
          `name="any"; filename="${NAME}"\r\nContent-Type: ${TYPE}\r\n\r\n`,
        ].map((field) => `--${caller.token}\r\nContent-Disposition: form-data; ${field}`);
        const end = `\r\n--${caller.token}--\r\n`;
        const body = Buffer.concat([Buffer.from(fields.join('\r\n')), content, Buffer.from(end)]);
        const headers = { 'content-type': `multipart/form-data; boundary=${caller.token}` };
        await kept(caller, { headers, body }, content);
      },
    ],
    'sent-query': [
      '2.17',
      'A file part with the sha256 of a file that was sent reaches the agent like one with the content, in any number of queries.',
      async (caller) => {
        const content = contentOf(caller);
        await send(caller, content);
        for (const name of [NAME, 'other.bin']) {
          const part = sentFile(content, name);
          const { parts: received } = await caller.report<{ parts: object[] }>(
            { report: 'query' },
            { parts: [part] },
          );
          equal('the part', received[0], { ...part, size: content.length });
        }
      },
    ],
    'sent-missing': [
      '2.17',
      'A query that names a file which was not sent is 400 file_missing, with a JSON Pointer for each such part.',
      async (caller) => {
        const content = contentOf(caller);
        await send(caller, content);
        const [one, other] = ['one', 'other'].map((name) => sentFile(contentOf(caller, name)));
        const parts = [one!, sentFile(content), other!];
        const { errors = [] } = await refused(
          await caller.submit([say('a')], { parts }),
          400,
          'file_missing',
        );
        const pointers = errors.map(({ pointer }) => pointer);
        equal('the pointers', pointers, ['/parts/0/sha256', '/parts/2/sha256']);
      },
    ],
    'sent-known': [
      '2.17',
      'HEAD of /files and a sha256 is 200 where the caller has sent the file, and else 404.',
      async (caller) => {
        const content = contentOf(caller);
        equal('the status before', await statusOf(caller, content), 404);
        await send(caller, content);
        equal('the status afterwards', await statusOf(caller, content), 200);
      },
    ],
  },
  '2027-02',
);

/** What another owner sees of such files. */
export const OWNERS_OF_UPLOADS = promisesOf(
  'access',
  {
    'owner-files': [
      '2.17',
      'A file that another owner has sent is like one that nobody has: to name in a query, and to look for.',
      async (caller) => {
        const other = otherOwner(caller);
        const [content, unknown] = [contentOf(caller), contentOf(caller, 'unknown')];
        await send(caller, content);
        const seen = async (bytes: Buffer) => {
          const reply = await other.submit([say('a')], { parts: [sentFile(bytes)] });
          return [await statusOf(other, bytes), await refused(reply, 400, 'file_missing')];
        };
        equal('what the other sees', await seen(content), await seen(unknown));
        equal('what the sender sees', await statusOf(caller, content), 200);
      },
    ],
  },
  '2027-02',
);

/** Bytes of every value that nobody has sent before. */
function contentOf({ token }: Caller, name = ''): Buffer {
  return Buffer.concat([
    Buffer.from(token + name),
    Buffer.from(Uint8Array.from({ length: 256 }, (_, n) => n)),
  ]);
}

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');

function sentFile(content: Buffer, name = NAME): SentFile {
  return { type: 'file', name, mimeType: TYPE, sha256: digestOf(content) };
}

/** Sends a file that must be kept. */
function send(caller: Caller, body: Buffer): Promise<void> {
  return kept(caller, { headers: { 'content-type': TYPE, 'content-disposition': DISPOSITION }, body }, body);
}

/** Sends a request that must keep this content. */
async function kept(
  caller: Caller,
  request: { headers: Record<string, string>; body: Buffer },
  content: Buffer,
): Promise<void> {
  const reply = await caller.send({ path: `${caller.path}/files`, ...request });
  equal('the status', reply.status, 201);
  const sent = await reply.json();
  has('the file', sent, { sha256: digestOf(content), size: content.length, name: NAME, mimeType: TYPE });
  const expiresAt = Date.parse(String(sent['expiresAt']));
  holds(expiresAt > 0, 'expiresAt, a time', sent['expiresAt']);
}

async function statusOf(caller: Caller, content: Buffer): Promise<number> {
  const path = `${caller.path}/files/${digestOf(content)}`;
  const reply = await caller.send({ method: 'HEAD', path, headers: {} });
  await reply.whole();
  return reply.status;
}
