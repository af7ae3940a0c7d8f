import { EVENTS, JSON_TYPE, pathsOf } from '../view/paths.js';

/** The routes of `ChatController`. */
export const chatPaths = (prefix = '') =>
  pathsOf(prefix, 'ai-sdk', 'application/problem+json', {
    'POST /ai/chat': {
      summary: 'Send the last message of a chat, or answer what its run asks',
      body: [JSON_TYPE],
      answer: [EVENTS],
    },
    'GET /ai/chat/{chatId}': { summary: 'Load the messages of a chat', answer: [JSON_TYPE] },
    'GET /ai/chat/{chatId}/stream': {
      summary: 'Go on with the answer of a chat',
      query: ['after', 'startIndex'],
      answer: [EVENTS],
      empty: 'No run of the chat is unfinished.',
    },
    'POST /ai/chat/{chatId}/stop': { summary: 'Cancel the run of a chat' },
  });
