import type { LogEnvelope, MessageEnvelope } from './wire.js';

/**
 * Makes an envelope that carries a part of the agent's response text.
 *
 * @example
 * yield message('The capital of France is ');
 * yield message('Paris.');
 */
export function message(content: string): MessageEnvelope {
  return { type: 'message', data: { content } };
}

/**
 * Makes an envelope that carries diagnostic or progress text.
 *
 * @example
 * yield log('Searching 3 documents');
 */
export function log(text: string): LogEnvelope {
  return { type: 'log', data: { message: text } };
}
