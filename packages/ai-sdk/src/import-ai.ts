/**
 * Loads the AI SDK, which is an optional package.
 *
 * @throws {Error} it is not installed; the message has the command that installs it
 */
export async function importAi(): Promise<typeof import('ai')> {
  try {
    return await import('ai');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error('The agent needs the package "ai". Run npm install ai@6.', { cause: error });
  }
}
