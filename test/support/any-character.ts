import fc from 'fast-check';

/** A unit of strings: any code point, also a surrogate that stands alone. The unit `binary` of fast-check is the same, and takes a second to build. */
export const anyCharacter = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code));
