import { Command } from 'commander';
import type { Turn } from 'nest-agent-query-client';
import { confirm } from './confirm.js';
import { write } from './outputs.js';
import { printable, printableJson } from './printable.js';
import { checked, hasTexts } from './response-form.js';
import { connect } from './service.js';
import { answerOf, headOf, readTurns } from './turns.js';
import { wholeNumber } from './whole-number.js';

/** `nest-agent-query session` */
export function sessionCommand(): Command {
  return new Command('session')
    .summary('Print the turns of a session.')
    .description('Print the turns of a session, oldest first: each question with its answer.')
    .argument('<session>', 'the id of the session')
    .option('--json', 'print each turn as a line of JSON')
    .action(async (id: string, { json }: { json?: true }, command: Command) => {
      const active = await readTurns(connect(command), id, (turn) =>
        write(process.stdout, json ? `${printableJson(turn)}\n` : textOf(turn)),
      );
      if (active) process.stderr.write(`A run has not ended: nest-agent-query follow ${active}\n`);
    });
}

/** `nest-agent-query fork` */
export function forkCommand(): Command {
  return new Command('fork')
    .summary('Make a session that begins with the turns of another one.')
    .description('Make a session that begins with the first turns of another one, and print its id.')
    .argument('<session>', 'the id of the session')
    .argument('<turns>', 'how many turns the new session begins with', wholeNumber(0))
    .option('--as <id>', 'the id of the new session; without it, a random one')
    .option('--json', 'print the new session as a line of JSON')
    .action(
      async (
        id: string,
        turns: number,
        { as: newId, json }: { as?: string; json?: true },
        command: Command,
      ) => {
        const session = checked(await connect(command).fork(id, turns, { newId }), (made) =>
          hasTexts(made, ['id']),
        );
        await write(process.stdout, `${json ? printableJson(session) : printable(session.id)}\n`);
      },
    );
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

function textOf(turn: Turn): string {
  return printable(`${`${headOf(turn)}\n\n${answerOf(turn)}`.trimEnd()}\n\n`);
}
