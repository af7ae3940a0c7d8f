/** What is asked of each client, and what its cells say. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OneCase, until } from './one-case.mjs';
import { SENTENCE } from './sentences.mjs';

const FIXTURES = join(import.meta.dirname, '../fixtures/files');
const FILES = {
  image: ['picture.png', 'image/png'],
  PDF: ['report.pdf', 'application/pdf'],
  CSV: ['cities.csv', 'text/csv'],
};

/** How long a client is watched that should be quiet, and one that should stop. */
const QUIET_MS = 5_000;
const STOP_MS = 3_000;

const ANSWER = /^\s*one\s+two\s+three\s*$/;

const NONE = '–';

/**
 * Asks a client in one form, all cases but one at the same time.
 *
 * @param tried `{ service, asker, label, isSet, key, keySentence }`; the sentence is that of a refused key
 * @returns its cells
 */
export async function cellsOf(tried) {
  const can = new Set(tried.asker.can);
  const [counted, files, turns, failures, resets, abort, questions] = await Promise.all([
    countedCells(tried, can),
    can.has('files') ? filesCell(tried) : NONE,
    turnsCell(tried, can),
    failed(tried, can),
    lost(tried, can),
    can.has('abort') ? abortCell(tried) : NONE,
    can.has('questions') ? questionsCell(tried) : NONE,
  ]);
  const cut = await cutCell(tried);
  const again = [...failures, ...resets, cut].filter(({ runs }) => runs > 1).map(({ name }) => name);
  return {
    ...counted,
    files,
    turns,
    errors: errorsCell(failures),
    cut: cut.cell,
    runs: again.length > 0 ? `again: ${again.join(', ')}` : 'once',
    abort,
    questions,
  };
}

async function countedCells(tried, can) {
  const counted = await OneCase.begin(tried, 'count');
  const isShown = await counted.first();
  const end = await counted.ended();
  const { length } = counted.way.requests;
  const isQuiet = !(await until(() => counted.way.requests.length > length + 1, QUIET_MS));
  counted.stop();
  return {
    stream: streamCell(end, counted.shown, isShown && can.has('stream')),
    usage: can.has('usage') ? (String(end?.usage) === '120,48' ? 'yes' : 'no') : NONE,
    after: isQuiet ? 'quiet' : 'asks on',
  };
}

function streamCell(end, shown, isShown) {
  if (!/one\s+two\s+three/.test(end?.text)) return 'no';
  if (!isShown) return 'at the end';
  return isBeginning(shown) ? 'yes' : 'pieces repeated';
}

/** A tool of MCP tells what is new as progress, and not the last of it. */
function isBeginning(shown) {
  return 'one two three'.startsWith(shown.trim());
}

async function filesCell(tried) {
  const read = await Promise.all(
    Object.entries(FILES).map(async ([kind, [name, mimeType]]) => {
      const content = await readFile(join(FIXTURES, name));
      const files = [{ name, mimeType, base64: content.toString('base64') }];
      const one = await OneCase.begin(tried, kind, { scenario: 'read', files });
      await one.ended();
      one.stop();
      return one.digestsRead.includes(createHash('sha256').update(content).digest('hex')) ? [kind] : [];
    }),
  );
  return read.flat().join(', ') || 'none';
}

/** A second question: within a session, or as the client itself continues a conversation. */
async function turnsCell(tried, can) {
  if (can.has('sessions')) {
    const session = crypto.randomUUID();
    await askedOnce(tried, 'turn', { session });
    const second = await askedOnce(tried, 'turn2', { session });
    return second.turnsOf(second.id) === 1 ? 'yes' : 'no';
  }
  if (!can.has('turns')) return NONE;
  const name = `${tried.label}-second`.replace(/\W+/g, '-');
  const one = await askedOnce(tried, 'turn', { second: `turn ${name}` });
  return one.turnsOf(name) === 1 ? 'yes' : 'no';
}

async function askedOnce(tried, name, order) {
  const one = await OneCase.begin(tried, name, { scenario: 'turn', ...order });
  await one.ended();
  one.stop();
  return one;
}

/** Lets the agent fail, and the service refuse. */
function failed(tried, can) {
  const cases = [
    ['early', { scenario: 'fail' }],
    ['late', { scenario: 'failing' }],
    ...(can.has('whole') ? [['whole', { scenario: 'fail', whole: true }]] : []),
    ['key', { key: 'naq_wrong', sentence: tried.keySentence }],
  ];
  return Promise.all(
    cases.map(async ([name, { sentence = SENTENCE, ...order }]) => {
      const one = await OneCase.begin(tried, name, order);
      const end = await one.ended();
      one.stop();
      return { name, runs: one.runs, word: errorWord(end, sentence) };
    }),
  );
}

function errorWord(end, sentence) {
  if (!end) return 'waits';
  if (end.error === undefined) return 'hidden';
  // What curl shows is JSON.
  return end.error.replaceAll('\\', '').includes(sentence) ? 'all' : 'no reason';
}

function errorsCell(failures) {
  const words = ['hidden', 'waits', 'no reason'].flatMap((word) => {
    const names = failures.filter((each) => each.word === word).map(({ name }) => name);
    return names.length > 0 ? [`${word}: ${names.join(', ')}`] : [];
  });
  return words.join('; ') || 'all';
}

/** Loses an answer before its head. */
function lost(tried, can) {
  const cases = [['reset', {}], ...(can.has('whole') ? [['reset whole', { whole: true }]] : [])];
  return Promise.all(
    cases.map(async ([name, order]) => {
      const one = await OneCase.begin(tried, name, { ...order, losesHead: true });
      await one.ended();
      one.stop();
      return { name, runs: one.runs };
    }),
  );
}

/** Loses the connection in mid-answer. It is alone, so that a rejection which nobody handles is of this case. */
async function cutCell(tried) {
  const one = await OneCase.begin(tried, 'cut');
  await one.first();
  one.way.lose();
  const end = await one.ended();
  one.stop();
  const unhandled = tried.asker.unhandled.length > 0 ? ', unhandled' : '';
  return { name: 'cut', runs: one.runs, cell: `${cutWord(one, end)}${unhandled}` };
}

function cutWord({ runs, way, shown }, end) {
  if (way.lost === 0) return NONE;
  if (runs > 1) return 'asks again';
  if (!end) return 'waits';
  if (end.error !== undefined) return 'error';
  if (ANSWER.test(end.text)) return isBeginning(shown) ? 'resumes' : 'twice';
  return /three\s*$/.test(end.text) ? 'twice' : 'hidden';
}

async function abortCell(tried) {
  const one = await OneCase.begin(tried, 'abort');
  await one.first();
  one.answer.abort();
  const isCancelled = await until(() => one.wasAborted, STOP_MS);
  const isLeft = one.way.left > 0;
  one.stop();
  if (isCancelled) return 'cancels';
  return isLeft ? 'closes' : 'goes on';
}

async function questionsCell(tried) {
  const one = await OneCase.begin(tried, 'question', { scenario: 'ask', approve: true });
  const end = await one.ended();
  one.stop();
  return /It was approved\./.test(end?.text) ? 'answered' : 'no';
}
