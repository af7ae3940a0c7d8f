import { contradicts, isMediaType } from './media-types.js';

describe('A declared media type', () => {
  it.each([
    ['image/png', 'image/jpeg'],
    ['image/png', 'application/pdf'],
    ['text/plain', 'image/png'],
    ['text/csv; charset=utf-8', 'application/pdf'],
    ['application/pdf', 'image/png'],
    ['audio/mpeg', 'image/png'],
    ['application/json', 'application/pdf'],
  ])('%s contradicts bytes of %s', (declared, detected) => {
    expect(contradicts(declared, detected)).toBe(true);
  });

  it.each([
    ['image/png', 'image/png'],
    ['IMAGE/PNG; q=1', 'image/png'],
    ['image/jpg', 'image/jpeg'],
    ['application/octet-stream', 'image/png'],
    ['*/*', 'image/png'],
    ['application/x-my-format', 'application/zip'],
    ['application/vnd.oasis.opendocument.text', 'application/zip'],
    ['application/vnd.ms-excel', 'application/x-cfb'],
    ['application/vnd.ms-excel', 'text/csv'],
    ['text/plain', 'application/json'],
    ['application/ld+json', 'application/json'],
    ['image/svg+xml', 'application/xml'],
    ['audio/x-wav', 'audio/wav'],
    ['video/ogg', 'audio/ogg'],
    ['application/x-rar-compressed', 'application/x-rar-compressed'],
    ['application/x-gzip', 'application/gzip'],
  ])('%s does not contradict bytes of %s', (declared, detected) => {
    expect(contradicts(declared, detected)).toBe(false);
  });

  it.each([
    ['text/plain', true],
    ['text/plain; charset="utf-8"', true],
    ['a/b; x="é \\" \t"', true],
    ['a/b; x="\u0100"', false],
    ['a/b; x="\\\u0100"', false],
    ['a/b; x="\u0000"', false],
    ['a/b; x="\r\nSet-Cookie: a=b"', false],
    ['a/b; x="\u007f"', false],
    ['text', false],
    ['text/', false],
    ['text/plain;', false],
    ['text/plain\n', false],
    ['', false],
  ])('%j is valid: %s', (text, valid) => {
    expect(isMediaType(text)).toBe(valid);
  });
});
