/** Starts the service as a new user does: `npx nest-agent-query serve`, with nothing configured. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import process from 'node:process';
import { installHost, OF_NEST_11, packedWithOurs } from './packed-host.mjs';
import { Program } from './program.mjs';

/** What is installed where, and what its answer tells. */
const FOLDERS = [
  [
    'an empty folder',
    ['nest-agent-query'],
    {},
    /a text of 5 characters: \\"Hello\\"[^]*npm install nest-agent-query-files/,
  ],
  ['a host of Nest 11', ['nest-agent-query'], OF_NEST_11, /This has arrived:/],
  [
    'a folder with the files agent',
    ['nest-agent-query', 'nest-agent-query-files', 'nest-agent-query-more-files'],
    {},
    /"type":"done","data":{"status":"completed"}/,
  ],
];

/** @param packages the packed packages */
export async function tryService(packages, directory) {
  for (const [number, [name, names, others, answer]] of FOLDERS.entries()) {
    const packed = packedWithOurs(packages, names);
    const folder = await installHost(join(directory, `service-${number}`), { ...others, ...packed });
    assert.match(await answerOf(folder), answer);
    console.log(`npx nest-agent-query serve answers in ${name}`);
  }
}

async function answerOf(cwd) {
  const env = { ...process.env, LOG_FORMAT: 'text' };
  const service = new Program('npx', ['--no', 'nest-agent-query', 'serve', '--port', '0'], { cwd, env });
  let answer = '';
  await service.during(async () => {
    const [, url] = await service.prints(/listens on (\S+)/);
    const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello' }] });
    const headers = { 'content-type': 'application/json' };
    answer = await (await fetch(`${url}/query`, { method: 'POST', headers, body })).text();
  });
  return answer;
}
