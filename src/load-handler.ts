import { checkCommand, commandHandler } from './agents/command/index.js';
import { FilesHandler } from './agents/files/index.js';
import { EXIT_CODES, loadModule, ModuleFailure, watchModule } from './agents/module/index.js';
import {
  commandOptions,
  ConfigurationError,
  type Environment,
  otherVariables,
  remoteOptions,
} from './config/index.js';
import type { QueryModuleOptions } from './query/index.js';

type Handler = QueryModuleOptions['handler'];

/**
 * Loads the agent that `AGENT` names: a built-in one, or a module.
 *
 * @throws {ConfigurationError} there is no such agent, or it cannot answer with these variables
 */
export async function loadHandler(environment: Environment): Promise<Handler> {
  const { AGENT: agent } = environment;
  if (agent === 'files') return FilesHandler;
  if (agent === 'remote') return loadRemoteHandler(environment);
  if (agent === 'command') return loadCommand(environment);
  return loadFile(environment);
}

async function loadRemoteHandler(environment: Environment): Promise<Handler> {
  try {
    const { remoteHandler } = await import('./agents/remote/index.js');
    return remoteHandler(remoteOptions(environment));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND';
    const what = isMissing ? 'it needs a package. Run npm install eventsource-parser.' : message;
    throw new ConfigurationError(`AGENT is "remote": ${what}`, { cause: error });
  }
}

async function loadCommand(environment: Environment): Promise<Handler> {
  const options = { ...commandOptions(environment), env: otherVariables() };
  try {
    await checkCommand(options);
  } catch (error) {
    // Not the command itself: it may contain a password.
    throw new ConfigurationError(`COMMAND cannot be executed. ${(error as Error).message}`, { cause: error });
  }
  return commandHandler(options);
}

async function loadFile({ AGENT: agent, WATCH }: Environment): Promise<Handler> {
  try {
    return WATCH === 'true' ? await watchModule(agent) : await loadModule(agent);
  } catch (error) {
    if (!(error instanceof ModuleFailure)) throw error;
    const { reason, message } = error;
    const isMissing = reason === 'file';
    const what = isMissing
      ? '; it must be "files", "command", "remote" or the path of a JavaScript module'
      : '';
    throw new ConfigurationError(`AGENT is ${JSON.stringify(agent)}${what}. ${message}`, {
      cause: error,
      exitCode: EXIT_CODES[reason],
    });
  }
}
