/**
 * A scripted agent that speaks ACP over stdio, without a model. It does what lines `DO <verb> <argument>` of the prompt
 * say (`agent/script.mjs` has the verbs), and behaves as the variable `AGENT_IS` says: switches, separated by `;`, as
 * `name` or `name=value` (`agent/switches.mjs` has all of them).
 *
 * It keeps its sessions in `$HOME/.scripted`, so that another process can load them.
 */
import { spawn } from 'node:child_process';
import { connection } from './agent/connection.mjs';
import { Sessions } from './agent/sessions.mjs';
import { is, valueOf } from './agent/switches.mjs';
import { Turn } from './agent/turn.mjs';

const wire = connection(process.stdin, process.stdout);
const sessions = new Sessions(wire);
const turns = new Map();
let isSignedIn = !is('auth');

if (is('deaf')) process.on('SIGTERM', () => wire.log('I ignore SIGTERM'));
if (is('stays')) setInterval(() => undefined, 1000);
if (is('stderr')) wire.log(valueOf('stderr'));
if (is('noise')) wire.noise('Welcome to the scripted agent!');
if (is('dead')) process.exit(Number(valueOf('dead') || 3));

wire.on('initialize', () => {
  if (is('mute')) return wire.later();
  const sessionCapabilities = { ...(is('resume') && { resume: {} }), close: {} };
  return {
    protocolVersion: Number(valueOf('version') || 1),
    agentInfo: { name: 'scripted', version: '1.0.0' },
    agentCapabilities: {
      loadSession: !is('no-load'),
      promptCapabilities: { image: is('images'), embeddedContext: is('embedded') },
      sessionCapabilities,
    },
    authMethods: [{ id: 'key', name: 'A key' }],
  };
});

wire.on('authenticate', ({ methodId }) => {
  if (methodId !== 'key') throw wire.error(-32602, `Unknown method ${methodId}`);
  isSignedIn = true;
  return {};
});

wire.on('session/new', (params) => {
  if (!isSignedIn) throw wire.error(-32000, 'Authentication required');
  if (is('new-fails')) throw wire.error(-32603, 'Internal error', { details: 'no disk' });
  return begun(sessions.begin(params));
});

wire.on('session/load', (params) => {
  const failure = valueOf('load-fails');
  if (failure) throw wire.error(Number(failure), 'Internal error', { details: 'No previous sessions found' });
  return begun(sessions.load(params, { replays: true }));
});

wire.on('session/resume', (params) => begun(sessions.load(params, { replays: false })));

wire.on('session/close', ({ sessionId }) => {
  sessions.close(sessionId);
  return {};
});

wire.on('session/set_mode', ({ sessionId, modeId }) => {
  sessions.of(sessionId).setMode(modeId);
  return {};
});

wire.on('session/set_config_option', ({ sessionId, configId, value }) => ({
  configOptions: sessions.of(sessionId).setOption(configId, value),
}));

wire.on('session/prompt', async ({ sessionId, prompt }) => {
  const session = sessions.of(sessionId);
  if (turns.has(sessionId)) throw wire.error(-32600, 'The session is busy');
  const turn = new Turn(wire, session);
  turns.set(sessionId, turn);
  try {
    return await turn.answer(prompt);
  } finally {
    turns.delete(sessionId);
    // The answer is sent before.
    setImmediate(() => turn.afterwards.forEach((each) => void each()));
  }
});

wire.on('session/cancel', ({ sessionId }) => turns.get(sessionId)?.cancel());

/** Some agents have a process for each session, which ends only when the session is closed. */
function begun(session) {
  if (is('children')) {
    const child = spawn('sleep', ['300'], { stdio: 'ignore' });
    session.onClose(() => child.kill());
  }
  if (is('late'))
    setTimeout(
      () => session.tells({ sessionUpdate: 'available_commands_update', availableCommands: [] }),
      20,
    );
  return session.described;
}
