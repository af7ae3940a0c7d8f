import { isObject } from '../../view/json.js';
import { CURSOR_EXTENSION } from '../service-parameters.js';
import { cardMembers, schemesOf } from '../v0.3/card.js';

type Json = Record<string, unknown>;

/** What an agent can do, in the words of its author. */
export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  tags: string[];
  examples?: string[];
  /** Media types. Default: those of the card. */
  inputModes?: string[];
  outputModes?: string[];
}

/** What an agent card says of the agent (A2A 1.0 §4.4.1). What the view itself can do, it adds. */
export interface AgentCardOptions {
  /** Default: the `name` of the module, or `agent`. */
  name?: string;
  /** Default: that the agent answers messages. */
  description?: string;
  /** That of the agent. Default `1.0.0`. */
  version?: string;
  /** At least one. Default: one with the name and the description of the agent. */
  skills?: AgentSkill[];
  /** Media types of the parts that the agent takes, `image/*` for all of a kind; others are refused. Default: all. */
  defaultInputModes?: string[];
  /** Default: texts, JSON, and files of any type. */
  defaultOutputModes?: string[];
  provider?: { organization: string; url: string };
  documentationUrl?: string;
  iconUrl?: string;
  /** How callers authenticate, by name: such as `{ bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }`. Default: not at all. */
  securitySchemes?: Record<string, object>;
  /** Which of these schemes a caller needs; one of the list is enough. Default: any one of them. */
  securityRequirements?: { schemes: Record<string, { list: string[] }> }[];
}

const ANY_TYPE = ['text/plain', 'application/json', '*/*'];

export function inputModesOf({ defaultInputModes = ANY_TYPE }: AgentCardOptions = {}): readonly string[] {
  return defaultInputModes;
}

/**
 * An agent card, for clients of A2A 1.0 and of 0.3.
 *
 * @param agent the name of the agent where the options have none
 * @param url of the view
 */
export function agentCard(options: AgentCardOptions, agent: string, url: string): Json {
  const { name = agent, description = `${name} answers messages.`, version = '1.0.0' } = options;
  const { skills = [{ id: 'answer', name, description, tags: ['agent'] }], provider } = options;
  const { documentationUrl, iconUrl, securitySchemes, securityRequirements } = options;
  const bindings = ['JSONRPC', 'HTTP+JSON'];
  const card = {
    name,
    description,
    supportedInterfaces: bindings.map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion: '1.0',
    })),
    provider,
    version,
    documentationUrl,
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extensions: [{ uri: CURSOR_EXTENSION, description: CURSOR_DESCRIPTION, required: false }],
      extendedAgentCard: false,
    },
    securitySchemes: securitySchemes && schemesOf(securitySchemes),
    securityRequirements: securitySchemes && (securityRequirements ?? anyOf(Object.keys(securitySchemes))),
    defaultInputModes: inputModesOf(options),
    defaultOutputModes: options.defaultOutputModes ?? ANY_TYPE,
    skills,
    iconUrl,
  };
  return { ...card, ...cardMembers(card, url) };
}

const CURSOR_DESCRIPTION =
  'Each event of a stream has a number in its metadata. SubscribeToTask with the header Last-Event-ID: {taskId}.{number} ' +
  'sends the events after it, also of a task that has ended.';

function anyOf(schemes: string[]): AgentCardOptions['securityRequirements'] {
  return schemes.map((name) => ({ schemes: { [name]: { list: [] } } }));
}

const TEXTS = ['name', 'description', 'version', 'documentationUrl', 'iconUrl'];
const TYPES = ['defaultInputModes', 'defaultOutputModes'];
const SKILL_TEXTS = ['id', 'name', 'description'];
const OTHERS = ['skills', 'provider', 'securitySchemes', 'securityRequirements'];

/**
 * What is wrong with the options of a card, in sentences whose subject is a member. None if nothing is.
 *
 * @example
 * const faults = faultsOfCard(JSON.parse(text));
 */
export function faultsOfCard(card: unknown): string[] {
  if (!isObject(card)) return ['it must be an object.'];
  const { skills, provider, securitySchemes, securityRequirements } = card;
  const known = [...TEXTS, ...TYPES, ...OTHERS];
  return [
    ...Object.keys(card)
      .filter((name) => !known.includes(name))
      .map((name) => `${name} is no member of it.`),
    ...TEXTS.filter((name) => card[name] !== undefined && !isText(card[name])).map(
      (name) => `${name} must be a text.`,
    ),
    ...TYPES.filter((name) => card[name] !== undefined && !areTexts(card[name])).map(
      (name) => `${name} must be a list of media types.`,
    ),
    ...(skills === undefined || areSkills(skills)
      ? []
      : ['skills must be a list of { id, name, description, tags }, with at least one.']),
    ...(provider === undefined ||
    (isObject(provider) && isText(provider['organization']) && isText(provider['url']))
      ? []
      : ['provider must be { organization, url }.']),
    ...(securitySchemes === undefined ||
    (isObject(securitySchemes) && Object.values(securitySchemes).every(isObject))
      ? []
      : ['securitySchemes must have an object for each name.']),
    ...(securityRequirements === undefined ||
    (Array.isArray(securityRequirements) &&
      securityRequirements.every((each) => isObject(each) && isObject(each['schemes'])))
      ? []
      : ['securityRequirements must be a list of { schemes }.']),
  ];
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

function areSkills(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every(
    (skill: unknown) =>
      isObject(skill) && SKILL_TEXTS.every((name) => isText(skill[name])) && areTexts(skill['tags']),
  );
}
