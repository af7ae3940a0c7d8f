import { createInterface } from 'node:readline';
import { Command } from 'commander';
import type { SessionPage, Turn } from 'nest-agent-query-client';
import { UsageError } from './failures.js';
import { Interrupted } from './interruption.js';
import { localTime } from './lists.js';
import { write } from './outputs.js';
import { printable, printableJson } from './printable.js';
import { checked, hasTexts, isPage } from './response-form.js';
import { connect } from './service.js';

/** `nest-agent-query session` */
export function sessionCommand(): Command {
  return new Command('session')
    .summary('Print the turns of a session.')
    .description('Print the turns of a session, oldest first: each question with its answer.')
    .argument('<session>', 'the id of the session')
    .option('--json', 'print each turn as a line of JSON')
    .action(async (id: string, { json }: { json?: true }, command: Command) => {
      const client = connect(command);
      let next: number | null | undefined;
      do {
        const page = checked(await client.session(id, { after: next ?? undefined }), isPageOfTurns);
        for (const turn of page.turns)
          await write(process.stdout, json ? `${printableJson(turn)}\n` : textOf(turn));
        if (page.next === null && page.active !== null)
          process.stderr.write(`A run executes: nest-agent-query follow ${page.active}\n`);
        next = page.next;
      } while (next !== null);
    });
}

/** `nest-agent-query erase` */
export function eraseCommand(): Command {
  return new Command('erase')
    .summary('Erase a session.')
    .description(
      'Erase a session: cancel its runs, and remove its turns, logs and files. Nothing brings them back.',
    )
    .argument('<session>', 'the id of the session')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print what was erased as a line of JSON')
    .action(async (id: string, { yes, json }: { yes?: true; json?: true }, command: Command) => {
      const client = connect(command);
      const name = printableJson(id);
      if (!yes && !(await confirm(`Erase the session ${name} with its turns, logs and files?`))) return;
      await client.erase(id);
      const line = json ? printableJson({ erased: id }) : `The session ${name} was erased.`;
      await write(process.stdout, `${line}\n`);
    });
}

function isPageOfTurns({ turns, next }: SessionPage): boolean {
  if (!isPage(turns, next, ['runId', 'createdAt', 'text'])) return false;
  return turns.every(({ parts, end }) => Array.isArray(parts) && hasTexts(end, ['status']));
}

function textOf({ parts, text, truncated, end, runId, createdAt }: Turn): string {
  const question = parts.map((part) =>
    part.type === 'text'
      ? `${part.text}${part.truncated ? '… (cut)' : ''}`
      : `[${part.name}, ${part.mimeType}, ${part.size} bytes]`,
  );
  const quoted = question.join('\n').replace(/^/gm, '> ');
  const state = end.status === 'failed' ? `failed: ${end.error.message} (${end.error.code})` : end.status;
  const whole = `--- ${localTime(createdAt)}, run ${runId}, ${state}\n${quoted}\n\n${text}${truncated ? '… (cut)' : ''}`;
  return printable(`${whole.trimEnd()}\n\n`);
}

/**
 * Asks whether to erase. No answer, as at Ctrl-D, is no.
 *
 * @throws {UsageError} there is nobody to ask
 * @throws {Interrupted} Ctrl-C
 */
async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError('There is no terminal to ask on. Give --yes to erase without a question.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const reply = await new Promise<string | Interrupted | undefined>((resolve) => {
    terminal.once('SIGINT', () => resolve(new Interrupted('SIGINT')));
    terminal.once('close', () => resolve(undefined));
    terminal.question(`${question} [y/N] `, resolve);
  });
  terminal.close();
  const isConfirmed = typeof reply === 'string' && /^y(es)?$/i.test(reply.trim());
  // Only a reply ends the line of the question.
  if (typeof reply !== 'string') process.stderr.write('\n');
  if (!isConfirmed) process.stderr.write('Nothing was erased.\n');
  if (reply instanceof Interrupted) throw reply;
  return isConfirmed;
}
