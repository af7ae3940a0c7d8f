import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textForLog } from 'nest-agent-query/agents';
import { type AcpOptions, acpSettings } from './acp-options.js';
import { checkFolders } from './check-folders.js';
import { PeerClosed } from './process/peer.js';
import { LivingAgent } from './run/living-agent.js';

/** The first start of some agents takes 14 s on a machine that has nothing else to do. */
const START_MS = 60_000;
/** So many that the trace of a program's error does not hide the error. */
const SHOWN_LINES = 20;
const SHOWN_LENGTH = 2_000;

/**
 * Checks the folders, starts the agent where it will work, waits until it has answered `initialize`, and ends it. It begins no session,
 * and needs no model. Where `home` and `cwd` are not paths, it does so in a folder that is removed then.
 *
 * @param options as for `fromAcp`
 * @throws {TypeError} {RangeError} as `fromAcp` · {Error} a folder is missing or cannot be written · the agent cannot be started, ends, or does not answer within 60 s: with
 * what it has printed
 *
 * @example
 * await checkAcp({ command: 'opencode acp' });
 */
export async function checkAcp(options: AcpOptions): Promise<void> {
  const settings = acpSettings(options);
  await checkFolders(settings);
  const folder = await mkdtemp(join(tmpdir(), 'nest-agent-query-acp-'));
  const printed: string[] = [];
  const log = (line: string) => {
    printed.push(line);
    if (printed.length > SHOWN_LINES) printed.shift();
  };
  try {
    const place = {
      home: settings.home === 'owner' ? folder : settings.home,
      cwd: typeof settings.cwd === 'string' ? settings.cwd : folder,
    };
    const living = await LivingAgent.start(settings, place, log, AbortSignal.timeout(START_MS));
    await living.stop();
  } catch (error) {
    throw new Error(`${whatFailed(error)}${shown(printed)}`, { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function whatFailed(error: unknown): string {
  const { name, message } = error as Error;
  if (name === 'TimeoutError') return `The agent did not answer "initialize" within ${START_MS / 1_000} s.`;
  if (error instanceof PeerClosed) return 'The agent ended before it had answered "initialize".';
  return message;
}

function shown(printed: string[]): string {
  if (printed.length === 0) return ' It printed nothing.';
  return ` It printed: ${textForLog(printed.join(' / ').slice(0, SHOWN_LENGTH))}`;
}
