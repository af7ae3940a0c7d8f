import { answererOf } from './answerer.js';

describe('Who has answered a request', () => {
  it.each([
    ['key:web', ' with the key “web”'],
    ['jwt:["https://idp.example","ann"]', ' by ann'],
    ['jwt:[null,"a\\"b"]', ' by a"b'],
    ['jwt:["https://idp.example"', ' by jwt:["https://idp.example"'],
    ['ann', ' by ann'],
    ['anonymous', ''],
    [null, ''],
  ])('is said in words: %j', (by, words) => expect(answererOf(by)).toBe(words));
});
