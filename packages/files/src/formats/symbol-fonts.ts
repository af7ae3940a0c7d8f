/** The signs of the font Symbol from 0x20 and from 0xA0, as Unicode has them. */
const LOW = ' !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼';
const HIGH =
  '€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\ufffd〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭';
/** Signs of Wingdings that have a meaning in texts. */
const WINGDINGS: Record<number, string> = {
  0x4a: '☺',
  0x6e: '■',
  0x6f: '□',
  0x6c: '●',
  0x71: '❑',
  0x9f: '•',
  0xa7: '▪',
  0xa8: '◻',
  0xd8: '➢',
  0xdf: '←',
  0xe0: '→',
  0xe1: '↑',
  0xe2: '↓',
  0xf0: '⇨',
  0xfb: '✗',
  0xfc: '✓',
  0xfd: '☒',
  0xfe: '☑',
};

/**
 * The character of Unicode for a sign of a font that has signs in place of letters; U+FFFD if it is not known.
 *
 * @param font its name
 * @param code of the sign; of codes for private use, the last byte counts
 */
export function symbolOf(font: string, code: number): string {
  const byte = code & 0xff;
  if (/^\s*wingdings\s*;?$/i.test(font)) return byte === 0x20 ? ' ' : (WINGDINGS[byte] ?? '\ufffd');
  if (!/^\s*symbol\b/i.test(font)) return byte <= 0x20 ? ' ' : '\ufffd';
  return (byte < 0xa0 ? LOW[byte - 0x20] : HIGH[byte - 0xa0]) ?? '\ufffd';
}
