import { readFileSync } from 'node:fs';
import { is } from './switches.mjs';

const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const chunk = (turn, content) => turn.session.says({ sessionUpdate: 'agent_message_chunk', content });
/** Texts are as they are, or JSON strings. */
const textOf = (argument) => (argument.startsWith('"') ? JSON.parse(argument) : argument);

/** What a line `DO <verb> <argument>` does. A verb that returns a stop reason ends the turn. */
export const VERBS = {
  /** Each argument is a chunk. */
  say: (turn, argument) => turn.says(textOf(argument)),
  remark: (turn, argument) => turn.says(textOf(argument), { claudeCode: { kind: 'warning' } }),
  think: (turn, argument) =>
    turn.session.says({
      sessionUpdate: 'agent_thought_chunk',
      content: { type: 'text', text: textOf(argument) },
      ...(is('ids') && { messageId: 'thought-1' }),
    }),
  image: (turn) => chunk(turn, { type: 'image', mimeType: 'image/png', data: PICTURE }),
  link: (turn, uri) => chunk(turn, { type: 'resource_link', uri, name: 'A page' }),
  /** One line of so many characters. */
  large: (turn, size) => turn.says('x'.repeat(Number(size))),
  flood: async (turn, count) => {
    for (let index = 0; index < Number(count) && !turn.signal.aborted; index++) {
      turn.says(`${index} `);
      if (index % 100 === 99) await turn.wire.drained();
    }
  },
  plan: (turn, argument) => {
    const entries = JSON.parse(argument).map((entry) => ({ priority: 'medium', ...entry }));
    turn.session.says({ sessionUpdate: 'plan', entries });
  },
  /** Any update. */
  update: (turn, argument) => turn.session.says(JSON.parse(argument)),
  /** Any line. */
  raw: (turn, line) => turn.wire.raw(line),
  wait: (turn, ms) => turn.wait(Number(ms)),
  hold: (turn) => turn.wait(2 ** 31 - 1),
  /** `{ code, message, data }`. */
  fail: (turn, argument) => {
    const { code, message, data } = JSON.parse(argument);
    throw turn.wire.error(code, message, data);
  },
  stop: (_turn, reason) => reason,
  die: async (turn, code) => {
    await turn.wire.drained();
    turn.wire.log('fatal: the scripted agent ends here');
    process.exit(Number(code || 1));
  },
  /** A request of the agent's own, and what was answered. */
  own: async (turn, method) => {
    const { error } = await turn.wire.request(method, { any: 'thing' });
    turn.says(`${method}: ${error?.code}`);
  },
  /** What the agent knows: variables, folders, prompts, mode. */
  tell: (turn, what) => {
    const { state, mode, depth } = turn.session;
    const known = {
      environment: () => Object.keys(process.env).sort(),
      home: () => process.env.HOME,
      cwd: () => state.cwd,
      pid: () => process.pid,
      prompts: () => state.prompts,
      blocks: () => turn.prompt,
      mode: () => mode,
      depth: () => depth,
      loads: () => state.loads ?? 0,
      file: () => JSON.stringify(readFileSync(`${state.cwd}/file`, 'utf8')),
    };
    turn.says(JSON.stringify(known[what]()));
  },
  /** A call that needs no permission. */
  read: (turn, path) => turn.calls.read(path),
  /** A call that has no end. */
  open: (turn, title) => turn.calls.begun(title),
  run: (turn, command) => turn.calls.run([command]),
  /** Commands that are asked about at the same time, separated by ` && `. */
  both: (turn, commands) => turn.calls.run(commands.split(' && ')),
  /** A file and its new text. */
  write: (turn, argument) => {
    const [, path, text] = /^(\S+) (.*)$/s.exec(argument);
    return turn.calls.write(path, textOf(text));
  },
  /** A command of a child session. */
  child: (turn, command) => turn.calls.run([command], 'child-1'),
  /** The second is asked about while the first waits for an answer. */
  stagger: async (turn, commands) => {
    const [first, second] = commands.split(' && ');
    const asked = turn.calls.run([first]);
    await turn.wait(150);
    await Promise.all([asked, turn.calls.run([second])]);
  },
  /** A child session asks, and nobody waits for the answer. */
  abandon: (turn, command) => void turn.calls.run([command], 'child-2'),
  /** A permission that comes when the prompt is answered. */
  after: (turn, command) => void turn.afterwards.push(() => turn.calls.run([command])),
};
