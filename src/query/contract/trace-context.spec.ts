import { traceIdOf, traceOf } from './trace-context.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const VALID = `00-${TRACE_ID}-${SPAN_ID}-01`;

describe('The trace of a request', () => {
  it.each([
    [VALID, VALID],
    [`00-${TRACE_ID}-${SPAN_ID}-00`, `00-${TRACE_ID}-${SPAN_ID}-00`],
    // Flags without a meaning are not passed on.
    [`00-${TRACE_ID}-${SPAN_ID}-ff`, `00-${TRACE_ID}-${SPAN_ID}-03`],
    // A later version may have more fields.
    [`cc-${TRACE_ID}-${SPAN_ID}-01`, VALID],
    [`cc-${TRACE_ID}-${SPAN_ID}-01-what-the-future-adds`, VALID],
  ])('is taken from the traceparent %s', (traceparent, trace) => {
    expect(traceOf(traceparent, undefined)).toBe(trace);
    expect(traceIdOf(trace)).toBe(TRACE_ID);
  });

  it.each([
    undefined,
    '',
    'hello',
    ` ${VALID}`,
    `${VALID}\n`,
    `${VALID}, ${VALID}`,
    VALID.slice(0, -1),
    `${VALID}0`,
    `${VALID}-00`,
    VALID.toUpperCase(),
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    `cc-${TRACE_ID}-${SPAN_ID}-01.more`,
    `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-0g`,
    [VALID],
  ])('is none with the traceparent %j', (traceparent) => {
    expect(traceOf(traceparent, 'a=1')).toBeUndefined();
  });

  it.each([
    ['a=1', 'a=1'],
    ['a=1, b=2 ,,\tc=3', 'a=1,b=2,c=3'],
    ['1tenant@vendor=x y', '1tenant@vendor=x y'],
    [`a=${'x'.repeat(256)},b=${'y'.repeat(251)}`, `a=${'x'.repeat(256)},b=${'y'.repeat(251)}`],
  ])('keeps the tracestate %j', (tracestate, kept) => {
    expect(traceOf(VALID, tracestate)).toBe(`${VALID} ${kept}`);
  });

  it.each([
    undefined,
    '',
    'a',
    'A=1',
    'a=1,a=2',
    'a=1=2',
    'a=\u00e9',
    'a=1\nb=2',
    `a=${'x'.repeat(257)}`,
    `a=${'x'.repeat(256)},b=${'y'.repeat(252)}`,
    Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(),
  ])('is without the tracestate %j', (tracestate) => {
    expect(traceOf(VALID, tracestate)).toBe(VALID);
  });
});
