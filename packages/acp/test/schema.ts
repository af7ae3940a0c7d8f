import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

const FILE = new URL('../../node_modules/@agentclientprotocol/sdk/schema/v1/schema.json', import.meta.url);

/** A message of JSON-RPC. */
export interface Message {
  id?: number | string;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: unknown;
}

/** The definitions of the parameters and results of each method, in the schema of ACP. */
const METHODS: Record<string, [params: string, result?: string]> = {
  initialize: ['InitializeRequest', 'InitializeResponse'],
  authenticate: ['AuthenticateRequest', 'AuthenticateResponse'],
  'session/new': ['NewSessionRequest', 'NewSessionResponse'],
  'session/load': ['LoadSessionRequest', 'LoadSessionResponse'],
  'session/resume': ['ResumeSessionRequest', 'ResumeSessionResponse'],
  'session/close': ['CloseSessionRequest', 'CloseSessionResponse'],
  'session/set_mode': ['SetSessionModeRequest', 'SetSessionModeResponse'],
  'session/set_config_option': ['SetSessionConfigOptionRequest', 'SetSessionConfigOptionResponse'],
  'session/prompt': ['PromptRequest', 'PromptResponse'],
  'session/cancel': ['CancelNotification'],
  'session/update': ['SessionNotification'],
  'session/request_permission': ['RequestPermissionRequest', 'RequestPermissionResponse'],
  '$/cancel_request': ['CancelRequestNotification'],
};

/** Validates messages with the schema of the protocol's own library. */
export class Schema {
  #ajv = new Ajv2020({ strict: false, validateFormats: false });

  constructor() {
    this.#ajv.addSchema(JSON.parse(readFileSync(FILE, 'utf8')) as object, 'acp');
  }

  /**
   * What is wrong with the messages of one side of a connection, each with what the other side has sent.
   *
   * @param sent the messages to validate, in the order in which they were sent
   * @param requests the messages of the other side, for the methods of answers
   */
  faultsOf(sent: Message[], requests: Message[]): string[] {
    return sent.flatMap((message) => this.#faults(message, requests));
  }

  #faults(message: Message, requests: Message[]): string[] {
    const { method, id } = message;
    if (method !== undefined) return this.#check(method, METHODS[method]?.[0], message.params);
    if ('error' in message) return this.#check(`error ${id}`, 'Error', message.error);
    const asked = requests.find((request) => request.method !== undefined && request.id === id)?.method;
    return this.#check(`answer of ${asked}`, METHODS[asked!]?.[1], message.result);
  }

  #check(what: string, definition: string | undefined, value: unknown): string[] {
    if (definition === undefined) return [`${what}: unknown`];
    const validate = this.#ajv.getSchema(`acp#/$defs/${definition}`)!;
    if (validate(value) === true) return [];
    return [`${what}: ${this.#ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`];
  }
}
