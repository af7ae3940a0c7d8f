import { EVENTS, JSON_TYPE, pathsOf } from '../view/paths.js';
import { CARD_PATH } from './card/card.controller.js';
import { A2A_JSON } from './rest.js';

/** What a body may be. */
const BODY = [A2A_JSON, JSON_TYPE];

/** The routes of `A2aController` and `CardController`, without those that A2A 1.0 has and this service refuses. */
export const a2aPaths = (prefix = '') => ({
  ...pathsOf(prefix, 'a2a', JSON_TYPE, {
    'POST /a2a': { summary: 'Call a method of A2A by JSON-RPC', body: BODY, answer: [JSON_TYPE, EVENTS] },
  }),
  ...pathsOf(prefix, 'a2a', A2A_JSON, {
    'POST /a2a/message:send': { summary: 'Send a message', body: BODY, answer: [A2A_JSON] },
    'POST /a2a/message:stream': {
      summary: 'Send a message, and follow its task',
      body: BODY,
      answer: [EVENTS],
    },
    'GET /a2a/tasks': { summary: 'List your tasks', answer: [A2A_JSON] },
    'GET /a2a/tasks/{id}': { summary: 'Get a task', answer: [A2A_JSON] },
    'POST /a2a/tasks/{id}:cancel': { summary: 'Cancel a task', answer: [A2A_JSON] },
    'GET /a2a/tasks/{id}:subscribe': {
      summary: 'Follow a task',
      query: ['lastEventId'],
      answer: [EVENTS],
    },
    'POST /a2a/tasks/{id}:subscribe': { summary: 'Follow a task', answer: [EVENTS] },
    [`GET /${CARD_PATH}`]: { summary: 'Get the card of the agent', answer: [JSON_TYPE], isPublic: true },
  }),
});
