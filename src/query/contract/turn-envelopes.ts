import type { Envelope, MessageEnvelope, TurnAnswer } from 'nest-agent-query-client';

/**
 * The envelopes of an answer without the texts of its messages, which the text of the answer has. Each message has the
 * length of its content instead.
 *
 * @returns undefined if the text is the only message
 */
export function withoutMessageTexts({ text, envelopes }: TurnAnswer): Envelope[] | undefined {
  if (isOneMessage(envelopes, text)) return undefined;
  return envelopes.map((envelope) =>
    isMessage(envelope)
      ? { ...envelope, data: { ...envelope.data, content: envelope.data.content.length } }
      : envelope,
  );
}

/**
 * Undoes `withoutMessageTexts`.
 *
 * @param text the text of the answer. If only its beginning is given, the contents of the messages end where it ends
 */
export function withMessageTexts(envelopes: Envelope[] | undefined, text: string): Envelope[] {
  if (!envelopes) return text === '' ? [] : [{ type: 'message', data: { content: text } }];
  let offset = 0;
  return envelopes.map((envelope) => {
    if (envelope.type !== 'message') return envelope;
    const data = envelope.data as { content: number };
    const content = text.slice(offset, offset + data.content);
    offset += data.content;
    return { ...envelope, data: { ...data, content } };
  });
}

function isOneMessage(envelopes: Envelope[], text: string): boolean {
  const [first] = envelopes;
  if (!first) return text === '';
  if (envelopes.length > 1 || text === '' || !isMessage(first)) return false;
  return first.data.content === text && Object.keys(first.data).length === 1;
}

function isMessage(envelope: Envelope): envelope is MessageEnvelope {
  return envelope.type === 'message';
}
