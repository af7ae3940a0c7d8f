import { nameOf } from './conversation-name.js';

const question = (text: string, ...names: string[]) => ({
  text,
  files: names.map((name) => ({ name, mimeType: 'text/csv', size: 1 })),
});

describe('A conversation is named by', () => {
  it.each([
    ['its first text', [question('Count the orders'), question('And now?')], 'Count the orders'],
    ['the text after a greeting', [question('Hello!'), question('Count the orders')], 'Count the orders'],
    [
      'the text after what every agent is asked',
      [question('hi there 👋'), question('What can you do?'), question('Count')],
      'Count',
    ],
    ['a text that only begins with a greeting', [question('Hi, count the orders')], 'Hi, count the orders'],
    ['a text in another alphabet', [question('Привет'), question('Сколько заказов?')], 'Сколько заказов?'],
    ['its first file without a text', [question('', 'a.csv', 'b.csv')], 'a.csv'],
    ['its first file with only a greeting', [question('Hello'), question('Test', 'a.csv')], 'a.csv'],
    ['its greeting without anything else', [question(' Hello! '), question('hi')], 'Hello!'],
    ['a text in one line', [question('\n one\r\n\ttwo ')], 'one two'],
    ['80 characters of a text', [question('😀'.repeat(100))], '😀'.repeat(80)],
    ['a sign that is no word', [question('?')], '?'],
  ])('%s', (_, questions, name) => expect(nameOf(questions)).toBe(name));

  it('nothing after its third turn', () => {
    const greetings = Array.from({ length: 3 }, () => question('Hello'));
    expect(nameOf([...greetings, question('Count')])).toBe('Hello');
  });

  it('nothing without a question', () => expect(nameOf([])).toBeUndefined());
});
