import type { ReceivedBody } from 'nest-agent-query/protocol';

/** Does what needs a body, and frees its files if that fails. */
export async function releasing<T>(body: ReceivedBody, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await body.release();
    throw error;
  }
}
