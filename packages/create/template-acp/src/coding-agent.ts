import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentHandler } from 'nest-agent-query';
import { type AcpOptions, checkAcp, fromAcp } from 'nest-agent-query-acp';

const SCRIPTED = fileURLToPath(new URL('../scripted-agent.mjs', import.meta.url));

/**
 * Makes the agent that answers: what ACP_COMMAND executes, or the scripted agent where none is set. It is started once, so that a
 * command that does not work is seen at the start.
 *
 * @throws Error if the command does not work, or ACP_ENV names a variable that is not set
 */
export async function codingAgent(variables: NodeJS.ProcessEnv): Promise<AgentHandler> {
  const options: AcpOptions = {
    ...(variables.ACP_COMMAND
      ? { command: variables.ACP_COMMAND }
      : { command: process.execPath, args: [SCRIPTED] }),
    env: passedOn(variables),
    // Homes of owners and folders of sessions.
    directory: resolve(variables.ACP_DIRECTORY || 'data/acp'),
    // A process stays ten minutes for the next question of its session.
    keepMs: 600_000,
  };
  await checkAcp(options);
  return fromAcp(options);
}

/** The variables that the agent gets, and the commands that it executes: those that ACP_ENV names. */
function passedOn(variables: NodeJS.ProcessEnv): Record<string, string> {
  const names = (variables.ACP_ENV ?? '').split(',').map((name) => name.trim());
  const entries = names.filter((name) => name !== '').map((name) => [name, variables[name]] as const);
  for (const [name, value] of entries)
    if (!value)
      throw new Error(`ACP_ENV names ${name}, which is not set. Set it, or take it out of ACP_ENV.`);
  return Object.fromEntries(entries) as Record<string, string>;
}
