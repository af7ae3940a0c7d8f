import { differencesOfTables, tablesOf } from './compare-tables.mjs';
import { differencesOfText } from './compare-texts.mjs';
import { TABLES } from './tables.mjs';
import { FACTS, TEXTS } from './texts.mjs';

/** What a request may take. */
const MOST_SECONDS = 5;

/** How the description says that a kind is known and not read. */
const NOT_READ = /\*\*(.+?)\*\*.*(?:This kind of file is not read here|It is not unpacked here)/;

/** How the description says that a file cannot be read, as the other reader says. */
const UNREADABLE = /is broken|cut off|is encrypted/;

/**
 * Asks the service about a file, and compares.
 *
 * @returns the sample with its `differences`, the `seconds` of its longest request, whether its kind is named only, and whether
 * another reader has read it
 */
export async function examine({ kind, path, file }, service) {
  const examined = { kind, file, seconds: 0, differences: [], isRead: true, isCompared: false };
  const differ = (what, ours, theirs) => examined.differences.push({ what, ours, theirs });
  try {
    const sent = await service.send(path);
    const ask = async (request) => {
      const answer = await service.ask(sent, request);
      examined.seconds = Math.max(examined.seconds, answer.seconds);
      return answer;
    };
    const { text } = await ask();
    const title = NOT_READ.exec(text)?.[1];
    examined.isRead = title === undefined;
    if (title === 'Binary file') differ('not named', beginningOf(text), kind);
    if (examined.isRead) await compare(examined, { kind, path, text, ask }, differ);
  } catch (error) {
    differ('failed', error.message);
  }
  if (examined.seconds > MOST_SECONDS) differ('slow', `${examined.seconds.toFixed(1)} s`, MOST_SECONDS);
  return examined;
}

async function compare(examined, { kind, path, text, ask }, differ) {
  const reader = TABLES[kind] ?? TEXTS[kind] ?? FACTS[kind];
  const theirs = await reader?.(path).catch((error) => error);
  if (theirs === undefined) return;
  examined.isCompared = true;
  if (theirs instanceof Error) {
    if (!UNREADABLE.test(text))
      differ('not read by the other', beginningOf(text), beginningOf(theirs.message));
  } else if (TABLES[kind]) examined.differences.push(...differencesOfTables(await tablesOf(ask), theirs));
  else if (TEXTS[kind]) examined.differences.push(...differencesOfText((await ask('text')).text, theirs));
  else if (!text.includes(theirs)) differ('facts', beginningOf(text), theirs);
}

function beginningOf(text) {
  return text.replace(/\s+/g, ' ').slice(0, 160);
}

/**
 * Sorts the differences of a file into those of the list and others.
 *
 * @param known groups: `what` differs, the `files`, the `reason`, and `isFault` where the service is wrong; the files that were
 * seen are noted in them
 */
export function judge(examined, known) {
  const { file } = examined;
  const differences = examined.differences.map((difference) => {
    const what = difference.what.replace(/ of .*/s, '');
    return {
      ...difference,
      known: known.find((group) => group.what.includes(what) && group.files.includes(file)),
    };
  });
  for (const { known: group } of differences) if (group) (group.seen ??= new Set()).add(file);
  const isWrong = differences.some(({ known: group }) => !group || group.isFault);
  return { ...examined, differences, isWrong };
}
