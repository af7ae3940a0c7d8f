import { prefixOf, type ServiceAgent } from './agents.js';
import { entriesOf, faultOfNames } from './lists.js';
import { type Environment, ROWS, type VariableName } from './variables.js';

/** A built-in agent that variables configure. */
interface Kind {
  agent: string;
  /** Those that must be set. */
  required: VariableName[];
  /** How to set them. */
  advice: string;
  /** What must be set instead where a variable is set. */
  instead?: { given: VariableName; required: VariableName[]; advice: string };
  /** The names of all that belong to it. */
  own: RegExp;
}

const KINDS: Kind[] = [
  {
    agent: 'command',
    required: ['COMMAND'],
    advice: "Set it to the program that answers, such as 'python3 agent.py'.",
    own: /^COMMAND(?:_|$)/,
  },
  {
    agent: 'acp',
    required: ['ACP_COMMAND'],
    advice: "Set it to the coding agent that answers, such as 'opencode acp'.",
    own: /^ACP_/,
  },
  {
    agent: 'remote',
    required: ['REMOTE_URL'],
    advice: 'Set it to the URL of the service that answers.',
    own: /^REMOTE_/,
  },
  {
    agent: 'model',
    required: ['MODEL_BASE_URL', 'MODEL'],
    advice: 'Set both to name the model that answers.',
    instead: { given: 'MODEL_PROVIDER', required: ['MODEL'], advice: 'Set it to the name of the model.' },
    own: /^(?:MODEL|MCP)(?:_|$)/,
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
    ...new Set(agents.flatMap((agent) => unsetNames(agent, variables))),
    ...unwatched(environment, agents),
  ];
}

function isOf({ agent }: Kind): (agent: ServiceAgent) => boolean {
  return ({ environment }) => environment.AGENT === agent;
}

function missing(kind: Kind, { name, environment }: ServiceAgent): string[] {
  const { agent, instead } = kind;
  const { required, advice } = instead && environment[instead.given] !== '' ? instead : kind;
  if (required.every((variable) => environment[variable] !== '')) return [];
  const who = name === undefined ? 'AGENT' : `The agent ${JSON.stringify(name)}`;
  const needed = required.map((variable) => prefixOf(name) + variable).join(' and ');
  return [`${who} is "${agent}", which needs ${needed}. ${advice}`];
}

function unused({ agent, own }: Kind, given: NodeJS.ProcessEnv): string[] {
  return ROWS.map(([name]) => name)
    .filter((name) => own.test(name) && given[name])
    .map((name) => `${name} has no effect without AGENT=${agent}. Set AGENT, or unset ${name}.`);
}

function withoutEffect(kind: Kind, { name, own }: ServiceAgent): string[] {
  const prefix = prefixOf(name);
  return own
    .filter((variable) => kind.own.test(variable))
    .map(
      (variable) =>
        `${prefix}${variable} has no effect: the agent ${JSON.stringify(name)} is not "${kind.agent}".`,
    );
}

function unsetNames(
  { name, own, environment: { ACP_ENV } }: ServiceAgent,
  given: NodeJS.ProcessEnv,
): string[] {
  if (faultOfNames(ACP_ENV) !== undefined) return [];
  const variable = `${own.includes('ACP_ENV') ? prefixOf(name) : ''}ACP_ENV`;
  const entries = entriesOf(ACP_ENV);
  return entries.flatMap((entry, index) => {
    if (entry.includes('=') || given[entry]) return [];
    // What follows a value may be the rest of a secret with a comma.
    return entries[index - 1]?.includes('=')
      ? `The entry ${index + 1} of ${variable} is no variable that is set. Pass a value with a comma on by name.`
      : `${variable} names ${entry}, which is not set. Set it, or take it out of ${variable}.`;
  });
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
