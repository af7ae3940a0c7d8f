import { AgentQueryError } from 'nest-agent-query-client';
import { EXIT } from '../exit-codes.js';
import { sentencesOf } from '../failures.js';
import { Interrupted, interruptible } from '../interruption.js';
import { Outputs } from '../outputs.js';
import { printableLine, shellWord } from '../printable.js';
import { filesOf } from '../query-input.js';
import { COMMANDS, pathOf } from './complete.js';
import type { Conversation } from './conversation.js';
import { Prompt } from './prompt.js';

const HELP = `${COMMANDS.map(([name, does]) => `${name.padEnd(12)}${does}`).join('\n')}
A line that ends with \\ goes on in the next one. An empty line sends the files alone.
Ctrl-C stops the answer. At an empty prompt, Ctrl-C and Ctrl-D leave.`;

/** Asks a person for texts, and shows the answers, until the person leaves. */
export async function talk(conversation: Conversation): Promise<void> {
  // Whoever stops an answer that ends at this moment stays in the conversation.
  const stay = () => undefined;
  process.on('SIGINT', stay);
  try {
    const history = await greet(conversation);
    const prompt = new Prompt(process.stdout.isTTY ? process.stdout : process.stderr, history);
    for (;;) {
      const ask = () => prompt.next(`${namesOf(conversation)}> `);
      const text = await interruptible(ask, async () => prompt.close());
      if (text === undefined || /^\/exit\s*$/.test(text)) break;
      await unlessStopped(() => take(text, conversation));
    }
  } finally {
    process.off('SIGINT', stay);
  }
  if (conversation.isBegun) say(`To continue: nest-agent-query chat -s ${shellWord(conversation.sessionId)}`);
}

/** Shows what there is of the conversation. @returns the questions, newest first */
async function greet(conversation: Conversation): Promise<string[]> {
  const history: string[] = [];
  let active: string | null = null;
  try {
    const show = () =>
      conversation.showTurns((texts) => {
        history.unshift(...texts.map((text) => printableLine(text)));
      });
    active = await interruptible(show, () => Promise.resolve());
  } catch (error) {
    if (!(error instanceof AgentQueryError) || error.code !== 'not_found') throw error;
  }
  say(`Session ${printableLine(conversation.sessionId)}. /help shows what you can type.`);
  if (active !== null) {
    say('A run of this session has not ended. This is its answer:');
    await unlessStopped(() => conversation.follow(active));
  }
  return history;
}

/** A person who stops an answer, or whose query fails, goes on. */
async function unlessStopped(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Interrupted && error.exitCode !== EXIT.interrupted) throw error;
    if (!(error instanceof Interrupted)) say(`error: ${sentencesOf(error)}`);
  }
}

/** Executes a command, or sends a text. */
async function take(text: string, conversation: Conversation): Promise<void> {
  const [, name, rest = ''] = /^\/([a-z]+|\d+)(?:\s+(.*?))?\s*$/s.exec(text) ?? [];
  if (name === undefined) {
    if (text.trim() !== '' || conversation.files.length > 0) await conversation.ask(text);
  } else if (name === 'file' && rest !== '') conversation.attach(await filesOf([pathOf(rest)]));
  else if (name === 'drop') conversation.files = [];
  else if (name === 'help') say(HELP);
  else if (/^\d/.test(name)) await askSuggestion(Number(name), conversation);
  else if (name === 'file') say('Name the file: /file PATH');
  else say(`There is no command /${name}. /help lists them. To send such a text, begin it with a space.`);
}

async function askSuggestion(number: number, conversation: Conversation): Promise<void> {
  const suggestion = conversation.suggestions[number - 1];
  if (!suggestion) return say(`There is no suggestion ${number}.`);
  const { text, files = [] } = suggestion;
  conversation.attach(
    files.map(({ name, mimeType, base64 }) => ({ name, mimeType, content: Buffer.from(base64, 'base64') })),
  );
  await conversation.ask(text);
}

function namesOf({ files }: Conversation): string {
  if (files.length === 0) return '';
  return `[${files.map(({ name }) => printableLine(name ?? '', 40)).join(', ')}] `;
}

function say(line: string): void {
  new Outputs().note(line);
}
