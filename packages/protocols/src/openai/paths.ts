import { EVENTS, JSON_TYPE, pathsOf } from '../view/paths.js';

const PAGE = ['after', 'limit', 'order'];

/** The routes of `OpenAiController`. */
export const openAiPaths = (prefix = '') =>
  pathsOf(prefix, 'openai', JSON_TYPE, {
    'POST /v1/responses': {
      summary: 'Create a response',
      body: [JSON_TYPE],
      answer: [JSON_TYPE, EVENTS],
    },
    'GET /v1/responses/{id}': {
      summary: 'Retrieve a response, or follow it',
      query: ['stream', 'starting_after'],
      answer: [JSON_TYPE, EVENTS],
    },
    'DELETE /v1/responses/{id}': { summary: 'Delete a response', answer: [JSON_TYPE] },
    'GET /v1/responses/{id}/input_items': {
      summary: 'List the input of a response',
      query: PAGE,
      answer: [JSON_TYPE],
    },
    'POST /v1/responses/{id}/cancel': { summary: 'Cancel a response', answer: [JSON_TYPE] },
    'POST /v1/conversations': {
      summary: 'Create a conversation',
      body: [JSON_TYPE],
      answer: [JSON_TYPE],
    },
    'GET /v1/conversations/{id}': { summary: 'Retrieve a conversation', answer: [JSON_TYPE] },
    'DELETE /v1/conversations/{id}': { summary: 'Delete a conversation', answer: [JSON_TYPE] },
    'GET /v1/conversations/{id}/items': {
      summary: 'List what was said in a conversation',
      query: PAGE,
      answer: [JSON_TYPE],
    },
    'POST /v1/chat/completions': {
      summary: 'Create a chat completion',
      body: [JSON_TYPE],
      answer: [JSON_TYPE, EVENTS],
    },
    'GET /v1/models': { summary: 'List the models: the agent', answer: [JSON_TYPE] },
    'GET /v1/models/{id}': { summary: 'Retrieve a model', answer: [JSON_TYPE] },
  });
