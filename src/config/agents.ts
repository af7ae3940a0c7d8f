import { createRequire } from 'node:module';
import { parse } from 'node:path';
import { entriesOf } from './lists.js';
import { type Environment, isVariable, ROWS, VARIABLES, valuesOf, type VariableName } from './variables.js';

/** An agent of the service. */
export interface ServiceAgent {
  /** Where `AGENTS` has several: its name, which begins the path of its endpoint. Undefined for the only agent of a service. */
  name: string | undefined;
  /** The variables as they hold for this agent. `AGENT` says who answers. */
  environment: Environment;
  /** The names of the variables that are set for this agent alone. */
  own: VariableName[];
}

/** The names of agents: what a URL, a label and the name of a variable can have. */
const NAME = /^[a-z](?:-?[a-z0-9]){0,31}$/;

/** The first segments of the paths that the service has itself. */
const RESERVED = ['a2a', 'ag-ui', 'ai', 'assets', 'health', 'mcp', 'metrics', 'query', 'v1', 'version'];

/** `SUMMARY__COMMAND` sets `COMMAND` for the agent `summary`. */
const SEPARATOR = '__';

/** How the variables of an agent begin. */
export function prefixOf(name: string | undefined): string {
  return name === undefined ? '' : name.toUpperCase().replaceAll('-', '_') + SEPARATOR;
}

/** The name of a variable without that of an agent. */
export function withoutAgent(variable: string): string {
  return variable.replace(/^[A-Z][A-Z0-9_]*?__/, '');
}

/** What people call an agent: without a name of its own, that of its file, or of what is built in. */
export function shownNameOf({ name, environment }: ServiceAgent): string {
  return name ?? parse(environment.AGENT).name;
}

/** The agents of an environment, and what is wrong with their variables. */
export function readAgents(
  environment: Environment,
  variables: NodeJS.ProcessEnv,
): { agents: ServiceAgent[]; faults: string[] } {
  if (environment.AGENTS === '') {
    const AGENT = environment.AGENT || (environment.MODEL ? 'model' : defaultAgent());
    return { agents: [{ name: undefined, environment: { ...environment, AGENT }, own: [] }], faults: [] };
  }
  const entries = entriesOf(environment.AGENTS).map(entryOf);
  const names = entries.map(({ name }) => name);
  const faults = [
    ...(variables['AGENT'] ? ['AGENT and AGENTS are both set. Unset one of them.'] : []),
    ...(entries.length === 0 ? ['AGENTS names no agent. Write name=agent, or unset it.'] : []),
    ...entries.flatMap(faultOfEntry),
    ...repeated(names).map((name) => `AGENTS has the name ${JSON.stringify(name)} more than once.`),
    ...strangers(names, variables),
  ];
  const read = entries.map(({ name, agent }) => agentOf(name, agent, environment, variables));
  return {
    agents: read.map(({ agent }) => agent),
    faults: [...faults, ...read.flatMap((each) => each.faults)],
  };
}

/** Who answers where nobody is named: the agent `files` where its package is installed. */
function defaultAgent(): string {
  try {
    createRequire(import.meta.url).resolve('nest-agent-query-files');
    return 'files';
  } catch {
    return 'echo';
  }
}

function entryOf(entry: string): { name: string; agent: string } {
  const [, name = '', agent = ''] = /^([^=]*)=(.*)$/s.exec(entry) ?? [undefined, entry];
  return { name: name.trim(), agent: agent.trim() };
}

function faultOfEntry({ name, agent }: { name: string; agent: string }): string[] {
  const shown = JSON.stringify(name);
  if (agent === '')
    return [`AGENTS has the entry ${shown}; an entry is name=agent, such as research=./research.mjs.`];
  if (!NAME.test(name)) {
    const what =
      'begins with a letter from a to z, and has only these, digits and single "-", at most 32 letters and digits';
    return [`AGENTS has the name ${shown}. A name is a part of a URL: it ${what}.`];
  }
  if (RESERVED.includes(name))
    return [`AGENTS has the name ${shown}, which is a path of the service. Use another.`];
  return [];
}

function repeated(names: string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** Variables with the form of one for an agent that is not there. */
function strangers(names: string[], variables: NodeJS.ProcessEnv): string[] {
  const known = ROWS.filter(([, { isOfService }]) => !isOfService).map(([name]) => name);
  const prefixes = names.map(prefixOf);
  return Object.keys(variables)
    .filter((variable) => known.some((name) => variable.endsWith(SEPARATOR + name)))
    .filter((variable) => !prefixes.some((prefix) => variable.startsWith(prefix)))
    .map((variable) => `${variable} is for an agent that AGENTS does not have. Rename it, or unset it.`);
}

function agentOf(
  name: string,
  agent: string,
  environment: Environment,
  variables: NodeJS.ProcessEnv,
): { agent: ServiceAgent; faults: string[] } {
  const prefix = prefixOf(name);
  const given = Object.entries(variables)
    .filter(([variable, value]) => variable.startsWith(prefix) && value)
    .map(([variable, value]) => [variable.slice(prefix.length), value] as const);
  const faults = given.flatMap(([variable]) => {
    if (!isVariable(variable))
      return [`${prefix}${variable} is not a variable of an agent. Rename or unset it.`];
    if (!isOfService(variable)) return [];
    return [
      `${prefix}${variable} has no effect: ${variable} is the same for all agents. Set ${variable}, or unset it.`,
    ];
  });
  const own = given.map(([variable]) => variable).filter(isVariable);
  const read = valuesOf(Object.fromEntries(given), prefix);
  const chosen = Object.fromEntries(own.map((each) => [each, read.environment[each]]));
  return {
    agent: { name, environment: { ...environment, ...chosen, AGENT: agent, AGENTS: '' }, own },
    faults: [...faults, ...read.faults],
  };
}

function isOfService(name: VariableName): boolean {
  return VARIABLES[name].isOfService === true;
}
