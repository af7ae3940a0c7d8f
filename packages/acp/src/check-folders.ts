import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from 'nest-agent-query-adapters';
import type { AcpSettings } from './acp-options.js';
import { refuseMissingFolder } from './run/workplace.js';

/**
 * Makes the folders of the options, and refuses those that cannot be used.
 *
 * @throws {Error} with a sentence that names the folder, and says what to do
 */
export async function checkFolders({ cwd, directory, home }: AcpSettings): Promise<void> {
  if (typeof cwd === 'string') await refuseMissingFolder(cwd);
  await refuseNotWritable(directory, 'homes and folders of sessions');
  if (home !== 'owner') await refuseNotWritable(home, 'what the agent keeps');
}

async function refuseNotWritable(path: string, content: string): Promise<void> {
  try {
    await makeFolder(path);
    // Permissions alone do not say it: a file system may be read-only.
    await rm(await mkdtemp(join(path, '.check-')), { recursive: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      `The folder ${JSON.stringify(path)}, for ${content}, cannot be written (${code ?? message}). ` +
        'Correct its path or its permissions.',
      { cause: error },
    );
  }
}
