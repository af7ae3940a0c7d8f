import { distance } from 'fastest-levenshtein';

/** Words of questions that say nothing about what is asked: English, German, French. */
const EMPTY = new Set(
  (
    'a about all also am an and any are as at be been below between but by can could d did do does doing down each every file ' +
    'files for from get give had has have he her here hers him his how i if in into is it its just know let like ll list ' +
    'look many may me more most much my need now of off on one only or other our out over per please re row rows s say see ' +
    'she should show so some t table tables tell than that the their them then there these they this those to too under up us ' +
    've want was we were hello hi hey thanks thank ok okay summary summarize summarise describe explain overview content contents document documents text help give what when where which while why will with would you your there data ' +
    'aber alle als am an auf aus bei bitte das dass dem den der des die diese dieser dieses ein eine einem einen einer er es ' +
    'fur gab gib gibt hat haben hatte ich ihr im in ist je jede jedem jeden jeder kann mir mit nach nicht noch nur oder pro ' +
    'sie sind so sollen und uns viel viele vom von war waren was welche welchem welchen welcher welches wenn wer wie wieviel ' +
    'wieviele wir wird wo wurde wurden zeige zeig zu zum zur zeilen datei dateien tabelle ' +
    'au aux avec ce ces cet cette chaque combien comment dans de des du elle en est et etait eu il ils je la le les leur ma ' +
    'me mes moi mon montre nous on ont ou par pas pour qu que quel quelle quelles quels qui quoi sa se ses son sont sur ta te ' +
    'tes ton tous tout toute toutes un une vous y fichier fichiers lignes'
  ).split(' '),
);

/** Words of one meaning, by which columns and questions of several languages are compared. */
const MEANINGS = [
  'city town stadt ort ville',
  'country land pays nation',
  'region area gebiet district',
  'customer client buyer kunde kundin acheteur who',
  'product item article produkt artikel produit ware',
  'amount betrag montant revenue turnover sales umsatz sell sold selling verkauf verkauft vente vendu spend spent paid value wert',
  'price cost preis prix kosten cout expensive cheap teuer billig cher',
  'quantity qty units unit menge quantite stuck anzahl pieces',
  'date datum jour',
  'category kategorie categorie kind sort',
  'employee worker mitarbeiter employe',
  'department abteilung departement',
  'name nom',
].map((line) => line.split(' '));

const MEANING_OF = new Map(MEANINGS.flatMap((words, index) => words.map((word) => [word, index] as const)));

/** Endings of plurals, and of forms of words, in these languages. */
const ENDINGS = ['s', 'es', 'e', 'n', 'en', 'er', 'x', 'd', 'ed', 'ing'];
/** Letters of the shortest word in which a letter may be wrong. */
const SHORTEST_TYPO = 4;

/** A text in lower case, without accents and marks such as soft hyphens. */
export function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss');
}

/** The words of a text, folded. `orderDate` has two. */
export function wordsOf(text: string): string[] {
  const spaced = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  return [...folded(spaced).matchAll(/[\p{L}\p{N}]+/gu)].map(([word]) => word);
}

/** Whether a word says something about what is asked. */
export function hasMeaning(word: string): boolean {
  return !EMPTY.has(word) && (word.length > 1 || /\p{N}/u.test(word));
}

/** Whether two folded words are the same but for an ending or a typo. */
export function isVariant(a: string, b: string): boolean {
  return isForm(a, b) || isForm(b, a) || isTypo(a, b);
}

/** How well two folded words fit: 3 for the same word or its plural, 2 for one of the same meaning, 1 for a typo, or 0. */
export function likeness(a: string, b: string): number {
  if (isForm(a, b) || isForm(b, a)) return 3;
  if (meaningOf(a) !== undefined && meaningOf(a) === meaningOf(b)) return 2;
  return isTypo(a, b) ? 1 : 0;
}

/** Whether a word is another one with an ending. */
function isForm(word: string, base: string): boolean {
  if (word === base) return true;
  if (base.length < 3) return false;
  if (word.endsWith('ies') && word.slice(0, -3) === base.slice(0, -1) && base.endsWith('y')) return true;
  return word.startsWith(base) && ENDINGS.includes(word.slice(base.length));
}

function meaningOf(word: string): number | undefined {
  const known = MEANING_OF.get(word);
  if (known !== undefined) return known;
  const ending = ENDINGS.find((each) => word.endsWith(each) && MEANING_OF.has(word.slice(0, -each.length)));
  if (ending !== undefined) return MEANING_OF.get(word.slice(0, -ending.length));
  return word.endsWith('ies') ? MEANING_OF.get(`${word.slice(0, -3)}y`) : undefined;
}

/** Whether one letter after the first is missing, too many or another one, or two are exchanged. */
function isTypo(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (long.length < SHORTEST_TYPO || short.length < 3 || long.length - short.length > 1) return false;
  if (/\p{N}/u.test(long) || short[0] !== long[0]) return false;
  const far = distance(a, b);
  return far === 1 || (far === 2 && long.length === short.length && isExchanged(a, b));
}

function isExchanged(a: string, b: string): boolean {
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}
