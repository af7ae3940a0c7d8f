import { rootTagOfSvg } from './svg.js';

describe('rootTagOfSvg', () => {
  it.each([
    ['<svg width="1">', '<svg width="1">'],
    ['<svg>…', '<svg>'],
    [
      '<?xml version="1.0"?>\n<!-- a > b --><!DOCTYPE svg PUBLIC "x">\n<svg a=">" b=\'"\'><g/>',
      '<svg a=">" b=\'"\'>',
    ],
    ['<svgs>', undefined],
    ['<!-- <svg> -->', undefined],
    ['<!-- never closed <svg>', undefined],
    ['text <svg>', undefined],
    ['', undefined],
  ])('of %j is %j', (text, tag) => expect(rootTagOfSvg(text)).toBe(tag));

  it('is cut where it is too long, so that no search in it takes long', () => {
    expect(rootTagOfSvg(`<svg ${' width="'.repeat(100_000)}`)).toHaveLength(8192);
  });
});
