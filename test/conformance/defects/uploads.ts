import type { Wrong } from '../defective-service.js';
import { bodies, json } from '../wrongs.js';
import { type Defect } from './defect.js';
import { ONE_OWNER } from './runs.js';

/** It takes each file that a query only names for an empty one. */
const EMPTY_FILES: Wrong = {
  request: bodies((body) => body.replaceAll(/"sha256":"[^"]*"/g, '"base64":""')),
};

/** Defects of files that are sent before their query. */
export const OF_UPLOADS: Defect[] = [
  ['files.sent', 'does not say when a file expires', { body: json(({ expiresAt, ...file }) => file) }],
  [
    'files.sent-form',
    'keeps a form as it is',
    {
      request: ({ headers }) => {
        if (headers['content-type']?.startsWith('multipart/')) headers['content-type'] = 'a/b';
      },
    },
  ],
  ['files.sent-query', 'takes each file that was sent for an empty one', EMPTY_FILES],
  ['files.sent-missing', 'takes each file that was not sent for an empty one', EMPTY_FILES],
  [
    'files.sent-known',
    'says that it has each file',
    { instead: ({ method }) => (method === 'HEAD' ? { status: 200 } : undefined) },
  ],
  ['access.owner-files', 'has the files of all owners together', ONE_OWNER],
];
