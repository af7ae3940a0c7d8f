import { EVENTS, JSON_TYPE, pathsOf } from '../view/paths.js';

/** The routes of `AgUiController`. */
export const agUiPaths = (prefix = '') =>
  pathsOf(prefix, 'ag-ui', JSON_TYPE, {
    'POST /ag-ui': {
      summary: 'Begin a run, answer interrupts, or resume a stream with `Last-Event-ID`',
      body: [JSON_TYPE],
      answer: [EVENTS],
    },
    'POST /ag-ui/connect': {
      summary: 'Load a thread: its messages, and the answer or the interrupts of its run that has not ended',
      body: [JSON_TYPE],
      answer: [EVENTS],
    },
    'GET /ag-ui': { summary: 'Follow a run', query: ['runId', 'offset', 'lastEventId'], answer: [EVENTS] },
  });
