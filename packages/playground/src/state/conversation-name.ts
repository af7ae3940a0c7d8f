import type { Question } from './turn.js';

/** So many turns at the beginning of a conversation can name it. */
export const NAMING_TURNS = 3;

/** The most characters of a name. */
const LENGTH = 80;

const GREETING = RegExp(
  '^(?:(?:hello|hey|hi|hiya|howdy|yo|greetings|good (?:morning|day|afternoon|evening)|test(?:ing)?|ping|' +
    'hallo|moin|servus|guten (?:morgen|tag|abend)|bonjour|bonsoir|salut|hola|buenos d[ií]as|ciao|buongiorno|ol[aá]|hej|' +
    'привет|你好|こんにちは|안녕하세요)(?: (?:again|all|everyone|there|world|you))?|what can you do)$',
  'iu',
);

/** Whether a text says nothing of what follows: it is only a greeting, or asks what each agent is asked at first. */
export function isOpening(text: string): boolean {
  return GREETING.test(text.replace(/[^\p{L}\p{N}]+/gu, ' ').trim());
}

/**
 * The name of a conversation: its first text that is no opening, or else the name of its first file, or else the opening.
 * Undefined if there is none of them.
 *
 * @param questions the first of the conversation
 */
export function nameOf(questions: readonly Pick<Question, 'text' | 'files'>[]): string | undefined {
  const first = questions.slice(0, NAMING_TURNS);
  const texts = first.map(({ text }) => beginningOf(text)).filter((text) => text !== '');
  const name = texts.find((text) => !isOpening(text)) ?? first.flatMap(({ files }) => files)[0]?.name;
  return name ?? texts[0];
}

/** The beginning of a text, in one line. The text may have many megabytes. */
function beginningOf(text: string): string {
  const line = text
    .trimStart()
    .slice(0, 10 * LENGTH)
    .replace(/\s+/gu, ' ');
  return [...line].slice(0, LENGTH).join('').trimEnd();
}
