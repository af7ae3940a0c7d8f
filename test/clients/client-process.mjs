/**
 * The process of one client: `node client-process.mjs MODULE OPTIONS`. Its parent says what to ask, and gets what the client shows. A
 * rejection that nobody handles would end the process of a user; here it is told.
 */
import { pathToFileURL } from 'node:url';
import process from 'node:process';

const [, , path, options] = process.argv;
const { default: create } = await import(pathToFileURL(path).href);
const { ask, can } = await create(JSON.parse(options));
const asked = new Map();

process.on('unhandledRejection', (error) => process.send({ unhandled: String(error?.message ?? error) }));
process.on('message', ({ number, abort, order }) => {
  if (abort) asked.get(number)?.abort();
  else void answer(number, order);
});
process.on('disconnect', () => process.exit());
process.send({ can });

async function answer(number, order) {
  const abort = new AbortController();
  asked.set(number, abort);
  const onText = (text) => process.send({ number, text });
  try {
    const { text, usage } = await ask({ ...order, signal: abort.signal, onText });
    process.send({ number, end: { text, usage } });
  } catch (error) {
    process.send({ number, end: { error: await shownBy(error) } });
  }
}

/** What a person reads of an error, if its message is shown. */
async function shownBy(error) {
  if (error instanceof Response) return (await error.json()).detail;
  return String(error?.message ?? error?.detail ?? JSON.stringify(error));
}
