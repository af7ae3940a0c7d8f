import { checkCommand, commandHandler } from './agents/command/index.js';
import { FilesHandler } from './agents/files/index.js';
import { EXIT_CODES, loadModule, ModuleFailure, watchModule } from './agents/module/index.js';
import {
  commandOptions,
  ConfigurationError,
  otherVariables,
  remoteOptions,
  type ServiceAgent,
} from './config/index.js';
import type { QueryModuleOptions } from './query/index.js';

type Handler = QueryModuleOptions['handler'];

/**
 * Loads an agent of the service: a built-in one, or a module.
 *
 * @throws {ConfigurationError} there is no such agent, or it cannot answer with these variables
 */
export async function loadHandler(agent: ServiceAgent): Promise<Handler> {
  const { AGENT: kind } = agent.environment;
  if (kind === 'files') return FilesHandler;
  if (kind === 'remote') return loadRemoteHandler(agent);
  if (kind === 'command') return loadCommand(agent);
  return loadFile(agent);
}

/** How a sentence about the agent begins. */
function subjectOf({ name, environment: { AGENT: agent } }: ServiceAgent): string {
  const who = name === undefined ? 'AGENT' : `The agent "${name}" of AGENTS`;
  return `${who} is ${JSON.stringify(agent)}`;
}

async function loadRemoteHandler(agent: ServiceAgent): Promise<Handler> {
  try {
    const { remoteHandler } = await import('./agents/remote/index.js');
    return remoteHandler({ ...remoteOptions(agent.environment), name: agent.name });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND';
    const what = isMissing ? 'it needs a package. Run npm install eventsource-parser.' : message;
    throw new ConfigurationError(`${subjectOf(agent)}: ${what}`, { cause: error });
  }
}

async function loadCommand(agent: ServiceAgent): Promise<Handler> {
  const options = { ...commandOptions(agent.environment), env: otherVariables(), name: agent.name };
  try {
    await checkCommand(options);
  } catch (error) {
    // Not the command itself: it may contain a password.
    const whose = agent.name === undefined ? '' : ` of the agent "${agent.name}"`;
    throw new ConfigurationError(`COMMAND${whose} cannot be executed. ${(error as Error).message}`, {
      cause: error,
    });
  }
  return commandHandler(options);
}

async function loadFile(agent: ServiceAgent): Promise<Handler> {
  const { AGENT: path, WATCH } = agent.environment;
  try {
    return WATCH === 'true' ? await watchModule(path) : await loadModule(path);
  } catch (error) {
    if (!(error instanceof ModuleFailure)) throw error;
    const { reason, message } = error;
    const isMissing = reason === 'file';
    const what = isMissing
      ? '; it must be "files", "command", "remote" or the path of a JavaScript module'
      : '';
    throw new ConfigurationError(`${subjectOf(agent)}${what}. ${message}`, {
      cause: error,
      exitCode: EXIT_CODES[reason],
    });
  }
}
