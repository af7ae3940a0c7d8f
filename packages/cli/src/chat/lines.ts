import { createInterface } from 'node:readline';
import { EXIT } from '../exit-codes.js';
import type { Conversation } from './conversation.js';

/**
 * Answers each line of stdin, one after the other. Blank lines are no texts. The first query that does not go well is the last,
 * and gives the process its exit code. No line is a command: a text of others could send files otherwise.
 */
export async function answerLines(conversation: Conversation): Promise<void> {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    const exitCode = await conversation.ask(line);
    if (exitCode === EXIT.ok) continue;
    process.exitCode = exitCode;
    // Whoever writes it may not know yet that nothing more is read.
    process.stdin.destroy();
    return;
  }
}
