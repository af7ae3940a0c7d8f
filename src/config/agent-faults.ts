import { prefixOf, type ServiceAgent } from './agents.js';
import { type Environment, ROWS, type VariableName } from './variables.js';

/** A built-in agent that variables configure. */
interface Kind {
  agent: string;
  /** Those that must be set. */
  required: VariableName[];
  /** All that belong to it. */
  variables: VariableName[];
  missing: (required: string[]) => string;
  unused: (set: string[]) => string;
}

const KINDS: Kind[] = [
  {
    agent: 'command',
    required: ['COMMAND'],
    variables: ['COMMAND', 'COMMAND_PROCESSES'],
    missing: ([variable]) =>
      `${variable} is not set. Set it to the program that answers, such as ${variable}='python3 agent.py'.`,
    unused: () =>
      'COMMAND and COMMAND_PROCESSES have no effect without AGENT=command. Set it, or unset them.',
  },
  {
    agent: 'remote',
    required: ['REMOTE_URL'],
    variables: ['REMOTE_URL', 'REMOTE_HEADERS'],
    missing: ([variable]) => `${variable} does not say where the remote service is. Set ${variable}.`,
    unused: () =>
      'REMOTE_URL and REMOTE_HEADERS have no effect without AGENT=remote. Set AGENT, or unset them.',
  },
  {
    agent: 'model',
    required: ['MODEL_BASE_URL', 'MODEL'],
    variables: ROWS.map(([name]) => name).filter((name) => /^(?:MODEL|MCP)(?:_|$)/.test(name)),
    missing: (variables) => `${variables.join(' and ')} do not say which model answers. Set both.`,
    unused: (set) =>
      `${set.join(', ')} ${set.length === 1 ? 'has' : 'have'} no effect without AGENT=model. Set it, or unset them.`,
  },
];

/** The agents that come with the service. Any other name is the path of a module. */
const BUILT_IN = ['files', 'echo', ...KINDS.map(({ agent }) => agent)];

/** Variables of agents that are missing, or have no effect. */
export function faultsOfAgents(
  variables: NodeJS.ProcessEnv,
  environment: Environment,
  agents: ServiceAgent[],
): string[] {
  return [
    ...KINDS.flatMap((kind) => [
      ...agents.filter(isOf(kind)).flatMap((agent) => missing(kind, agent)),
      ...agents.filter((agent) => !isOf(kind)(agent)).flatMap((agent) => withoutEffect(kind, agent)),
      ...(agents.some(isOf(kind)) ? [] : unused(kind, variables)),
    ]),
    ...unwatched(environment, agents),
  ];
}

function isOf({ agent }: Kind): (agent: ServiceAgent) => boolean {
  return ({ environment }) => environment.AGENT === agent;
}

function missing({ agent, required, missing }: Kind, { name, environment }: ServiceAgent): string[] {
  if (required.every((variable) => environment[variable] !== '')) return [];
  const who = name === undefined ? 'AGENT' : `The agent ${JSON.stringify(name)}`;
  return [`${who} is "${agent}", and ${missing(required.map((variable) => prefixOf(name) + variable))}`];
}

function unused({ variables, unused }: Kind, given: NodeJS.ProcessEnv): string[] {
  const set = variables.filter((name) => given[name]);
  return set.length === 0 ? [] : [unused(set)];
}

function withoutEffect({ agent, variables }: Kind, { name, own }: ServiceAgent): string[] {
  return own
    .filter((variable) => variables.includes(variable))
    .map(
      (variable) =>
        `${prefixOf(name)}${variable} has no effect: the agent ${JSON.stringify(name)} is not "${agent}".`,
    );
}

function unwatched({ WATCH }: Environment, agents: ServiceAgent[]): string[] {
  const own = agents
    .filter((agent) => agent.own.includes('WATCH') && isBuiltIn(agent))
    .map(
      ({ name }) => `${prefixOf(name)}WATCH has no effect: the agent ${JSON.stringify(name)} is no module.`,
    );
  if (WATCH === 'false' || !agents.every(isBuiltIn)) return own;
  return [
    ...own,
    'WATCH and --watch have no effect without an AGENT that is the path of a module. Set it, or do not set them.',
  ];
}

function isBuiltIn({ environment }: ServiceAgent): boolean {
  return BUILT_IN.includes(environment.AGENT);
}
