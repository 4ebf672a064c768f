import { describe, expect, it } from 'vitest';
import {
  isSampled,
  NOT_SAMPLED,
  partsOf,
  traceFrom,
  traceHeaders,
  traceIdOf,
  traceOf,
  traceOfJob,
} from '../../src/domain/trace.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;

/** 511 characters. */
const LONG = `a=${'x'.repeat(256)},b=${'x'.repeat(250)}`;

describe('the trace context of a request', () => {
  it.each([
    ['is kept', TRACEPARENT, TRACEPARENT],
    ['is kept when it is not sampled', `00-${TRACE_ID}-${SPAN_ID}-00`, `00-${TRACE_ID}-${SPAN_ID}-00`],
    ['loses flags that have no meaning yet', `00-${TRACE_ID}-${SPAN_ID}-ff`, `00-${TRACE_ID}-${SPAN_ID}-03`],
    ['of a later version is read as version 00', `cc-${TRACE_ID}-${SPAN_ID}-01-more-of-it`, TRACEPARENT],
  ])('the trace context of a request %s', (_what, traceparent, stored) => {
    expect(traceOf({ traceparent })).toBe(stored);
  });

  it.each([
    ['is not there', undefined],
    ['is empty', ''],
    ['is in upper case', TRACEPARENT.toUpperCase()],
    ['has no trace', `00-${'0'.repeat(32)}-${SPAN_ID}-01`],
    ['has no parent', `00-${TRACE_ID}-${'0'.repeat(16)}-01`],
    ['has a version that cannot be', `ff-${TRACE_ID}-${SPAN_ID}-01`],
    ['is longer than version 00 is', `${TRACEPARENT}-01`],
    ['is too long without a separator', `cc-${TRACE_ID}-${SPAN_ID}-011`],
    ['is too short', TRACEPARENT.slice(0, -1)],
    ['came twice', `${TRACEPARENT}, ${TRACEPARENT}`],
    ['has a line break after it', `${TRACEPARENT}\n`],
  ])('is none when traceparent %s', (_what, traceparent) => {
    expect(traceOf({ traceparent, tracestate: 'a=1' })).toBeNull();
  });

  it.each([
    ['is kept', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'],
    ['is kept at 512 characters', `${LONG}x`, `${LONG}x`],
    ['is dropped above that', `${LONG}xx`, ''],
    ['is kept with a tenant, spaces and an empty member', 'ten4nt@v-1=a b;c,, \tz=1', 'ten4nt@v-1=a b;c,, \tz=1'],
    ['is dropped when a member has no key', 'a=1,=2', ''],
    ['is dropped when a member has no value', 'a=1,b=', ''],
    ['is dropped when a key is in upper case', 'A=1', ''],
    ['is dropped when a value has an equals sign', 'a=b;;;;,,,=="{}', ''],
    ['is dropped when a value is too long', `a=${'x'.repeat(257)}`, ''],
    ['is dropped when it has only empty members', ', ,', ''],
    ['is dropped when it has more than 32 members', Array.from({ length: 33 }, (_, n) => `a${n}=1`).join(','), ''],
    ['is dropped when it cannot be sent in a header again', 'a=\u00fc', ''],
    ['is dropped when it has a line break', 'a=1\r\nx-evil: 1', ''],
    ['is dropped when it is empty', ' ', ''],
  ])('has a tracestate that %s', (_what, tracestate, state) => {
    const stored = traceOf({ traceparent: TRACEPARENT, tracestate });
    expect(stored).toBe(state === '' ? TRACEPARENT : `${TRACEPARENT} ${state}`);
    expect(partsOf(stored ?? '')).toEqual({ traceId: TRACE_ID, spanId: SPAN_ID, flags: 1, state });
    expect(traceFrom(partsOf(stored ?? ''))).toBe(stored);
  });

  it('is made from the id of the job if it was stored as not sampled', () => {
    const made = traceOfJob(NOT_SAMPLED, '01a202eee52a0034530834a9') ?? '';
    expect(made).toBe('00-01a202eee52a0034530834a9530834a9-e52a0034530834a9-00');
    expect(traceOf({ traceparent: made })).toBe(made);
    expect(isSampled(made)).toBe(false);
    expect(traceOfJob(TRACEPARENT, '01a202eee52a0034530834a9')).toBe(TRACEPARENT);
    expect(traceOfJob(null, '01a202eee52a0034530834a9')).toBeNull();
  });

  it('becomes headers again', () => {
    expect(traceHeaders(TRACEPARENT)).toEqual(['traceparent', TRACEPARENT]);
    expect(traceHeaders(`${TRACEPARENT} a=1,b=2`)).toEqual(['traceparent', TRACEPARENT, 'tracestate', 'a=1,b=2']);
  });

  it('has an id for the log', () => {
    expect(traceIdOf(`${TRACEPARENT} a=1`)).toBe(TRACE_ID);
    expect(traceIdOf(null)).toBeUndefined();
  });
});
