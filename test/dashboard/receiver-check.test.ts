import { expect, it } from 'vitest';
import { type CheckResult, sentenceOfCheck } from '../../packages/dashboard/features/queues/model/receiver-check.ts';

const WELL: CheckResult = {
  webhookStatusCode: 200,
  durationMs: 12,
  error: null,
  errorCode: null,
  signature: 'ACCEPTED',
  certificateEndsAt: null,
};
const said = (change: Partial<CheckResult>) => sentenceOfCheck({ ...WELL, ...change }, 15);
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

it.each<[Partial<CheckResult>, text: RegExp, signal: string]>([
  [{}, /^The receiver answered 200 in 12 ms\. It accepted the signature, or does not check it\.$/, 'ok'],
  [
    { certificateEndsAt: '2027-03-01T12:00:00.000Z' },
    /does not check it\. Its certificate expires on 2027-03-01\.$/,
    'ok',
  ],
  [
    { webhookStatusCode: 401, error: 'HTTP 401', signature: 'REJECTED' },
    /^The receiver answered 401 in 12 ms\. It rejected the signature/,
    'bad',
  ],
  [
    { webhookStatusCode: 503, durationMs: 1500, error: 'HTTP 503', signature: 'UNKNOWN' },
    /^The receiver answered 503 in 1\.5 s\. It is not known whether it accepts the signature\.$/,
    'bad',
  ],
  [
    { webhookStatusCode: null, error: 'timeout', signature: 'UNKNOWN' },
    /^The receiver did not answer within 15 s\. It is not known whether it accepts the signature\.$/,
    'bad',
  ],
  [
    { webhookStatusCode: null, error: 'tls_error', errorCode: 'CERT_HAS_EXPIRED', signature: 'UNKNOWN' },
    /^The receiver’s certificate was rejected \(CERT_HAS_EXPIRED\)\. /,
    'bad',
  ],
  [
    { webhookStatusCode: null, error: 'address_not_allowed', signature: 'UNKNOWN' },
    /^The receiver’s address is not public, and WEBHOOK_ALLOW_CIDRS does not allow it\. /,
    'bad',
  ],
])('the check %j is said in words', (change, text, signal) => {
  expect(plain(said(change).text)).toMatch(text);
  expect(said(change).signal).toBe(signal);
});
