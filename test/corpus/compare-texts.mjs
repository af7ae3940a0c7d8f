/** The text that the service gives of a file, compared by words: readers differ in white space, marks and the order of notes. */

/** The share of words that may differ: hyphens at ends of lines, bullets and numbers of lists. */
const TOLERANCE = 0.02;

/** The service gives as many characters. */
const MOST_CHARACTERS = 65_000;

/**
 * @param answer the answer to `text`
 * @returns the differences: the words that one of them does not have
 */
export function differencesOfText(answer, theirs) {
  const blocks = [...answer.matchAll(/^(`{3,})text\n([^]*?)\n?^\1$/gm)];
  const ours = blocks.map(([, , text]) => text).join('\n');
  const isWhole = ours.length < MOST_CHARACTERS;
  const here = wordsOf(ours);
  const there = wordsOf(theirs);
  const differ = (what, words) => {
    if (words.length <= TOLERANCE * here.length + 1) return [];
    const shown = `${words.length} words: ${words.slice(0, 12).join(' ')}`;
    return [{ what, ours: `${here.length} words`, theirs: `${there.length} words; ${shown}` }];
  };
  // Of a text that is cut, nobody knows which words are missing: the parts of an EPUB have another order.
  const missing = isWhole ? without(there, here) : [];
  const further = without(wordsOf(withoutNotes(ours)), there);
  return [...differ('words missing', missing), ...differ('further words', further)];
}

/** Not all readers give footnotes, headers and comments. */
function withoutNotes(text) {
  return text.replace(/^\[[^\]\n]{1,40}\].*$/gm, '');
}

function wordsOf(text) {
  const joined = text.normalize('NFKC').replace(/\u00ad|-\s*\n\s*/g, '');
  return joined.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The words of a list that are not, or less often, in another. */
function without(words, others) {
  const counts = new Map();
  for (const each of others) counts.set(each, (counts.get(each) ?? 0) + 1);
  return words.filter((each) => {
    const left = counts.get(each) ?? 0;
    counts.set(each, left - 1);
    return left <= 0;
  });
}
