/** What the errors of model clients say, in the forms that frameworks and endpoints give it. */
export interface ErrorFacts {
  /** The HTTP status of the response. */
  status: number | undefined;
  /** All texts: messages, bodies of responses, and codes of the endpoint. */
  text: string;
  /** The code of the system or of the HTTP client, such as `ECONNRESET`. */
  systemCode: string | undefined;
  /** The names of the errors, the outermost first. */
  names: string[];
}

/** How many errors inside one another are looked at. */
const DEPTH = 8;

/** The most characters of one text that are looked at: a body may be of any length. */
const TEXT_LENGTH = 2_000;

const SYSTEM_CODE = /^(?:E[A-Z]{2,}|UND_ERR_[A-Z_]+|ERR_[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*SELF_SIGNED[A-Z_]*)$/;

/** Collects what an error and those inside it say. It may be of any type. */
export function factsOf(error: unknown): ErrorFacts {
  const facts: ErrorFacts = { status: undefined, text: '', systemCode: undefined, names: [] };
  const texts: string[] = [];
  let current = error;
  for (let depth = 0; depth < DEPTH && current != null; depth++) {
    if (typeof current === 'string') texts.push(current);
    if (typeof current !== 'object') break;
    const members = current as Record<string, unknown>;
    addFacts(facts, members);
    texts.push(...textsOf(members));
    // `lastError`: of several tries. `error`: what the endpoint says, as clients parse it.
    current = members['lastError'] ?? members['error'] ?? members['cause'];
  }
  facts.text = texts.map((text) => text.slice(0, TEXT_LENGTH)).join('\n');
  return facts;
}

function addFacts(facts: ErrorFacts, members: Record<string, unknown>): void {
  const { name, statusCode, status, code } = members;
  facts.status ??= [statusCode, status, code].map(Number).find(isHttpStatus);
  if (typeof code === 'string' && SYSTEM_CODE.test(code)) facts.systemCode ??= code;
  if (typeof name === 'string') facts.names.push(name);
}

function textsOf({ message, responseBody, code, type }: Record<string, unknown>): string[] {
  return [message, responseBody, code, type].filter((text) => typeof text === 'string');
}

function isHttpStatus(value: number): boolean {
  return Number.isInteger(value) && value >= 200 && value <= 599;
}
