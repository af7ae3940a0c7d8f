import { dialectOf, splitRows } from './dialect.js';
import { beginningOf } from './header.js';

describe('The dialect of delimited text', () => {
  it.each([
    ['a,b\n1,2\n', ',', 0, 2],
    ['a;b\n1,5;2\n', ';', 0, 2],
    ['a\tb\n1\t2\n', '\t', 0, 2],
    ['a|b\n1|2\n', '|', 0, 2],
    ['name\nada\n', ',', 0, 1],
    ['sep=;\na;b\n1;2\n', ';', 1, 2],
    ['SEP=:\na:b\n1:2\n', ':', 1, 2],
    ['# made, by, x\n#\na,b\n1,2\n', ',', 2, 2],
    ['Report\n\na,b,c\n1,2,3\n4,5,6\n', ',', 2, 3],
    ['"Order\nNo.",Amount\n1,2\n3,4\n', ',', 0, 2],
    ['Report\n\n"Order\nNo.",Amount\n1,2\n3,4\n', ',', 2, 2],
    ['"A title\nof two lines"\n"Order\nNo.",Amount\n1,2\n3,4\n', ',', 2, 2],
    ['a,b\n1,2\n1,2,3\n4\n5,6\n', ',', 0, 3],
    ['a,b\n"1,2;3;4","x\ny"\n', ',', 0, 2],
  ])('of %j', (text, delimiter, skipped, width) => {
    expect(dialectOf(text, ',')).toMatchObject({ delimiter, skipped, width });
  });

  it('knows quotes, empty cells and a last line without an end', () => {
    expect(splitRows('a,"b ""c"", d"\n\n,\n"x\ny",', ',', 10)).toEqual([
      ['a', 'b "c", d'],
      ['', ''],
      ['x\ny', ''],
    ]);
  });
});

describe('The first row', () => {
  it.each([
    ['country,2019,2020\nFI,5.5,5.6\n', true],
    ['2019,2020\n5,6\n', true],
    ['item,2024-01-01,2024-02-01\nbolts,4,5\n', true],
    ['a,b\n1,2\n', true],
    ['name\n', true],
    ['2019,2020\n2019,2021\n', false],
    ['FI,2019\nSE,2020\n', false],
    ['country,2019,2019\nFI,5,6\n', false],
    ['ada,12\ngrace,13\n', false],
    ['true,x\nfalse,y\n', false],
    [',,a\n1,2,3\n', false],
    ['No,Name,Amount\n1,Ada,10\n2,Grace,20\n', true],
    ['Question,Yes,No\nTea?,10,20\n', true],
    ['Name,Age,25%,50%,75%\nAda,36,1.5,2.5,3.5\n', true],
    ['id,0,1,2\n5,0.5,0.25,0.75\n', true],
    [',0,1\n0,5,6\n1,7,8\n', true],
    ['at,08:00,09:00\nTurku,5,6\n', true],
    ['true,x,1\nfalse,y,2\n', false],
    ['NA,12,5\n3,13,6\n', false],
    ['25%,x\n30%,y\n', false],
    ['ada,08:00\ngrace,09:00\n', false],
    ['1999,1\n3,2\n7,5\n', false],
  ])('of %j names the columns: %j', (text, expected) => {
    expect(beginningOf(splitRows(text, ',', 10)).names !== undefined).toBe(expected);
  });
});
