import { took } from '../../../../query/words/format.ts';
import type { IconName, Signal } from '../../../../query/words/words.ts';
import { causeOf } from '../../../words/cause.ts';

/** The result of a test request to a receiver, in words. */

export interface CheckResult {
  webhookStatusCode: number | null;
  durationMs: number;
  error: string | null;
  errorCode: string | null;
  signature: 'ACCEPTED' | 'REJECTED' | 'UNKNOWN';
  certificateEndsAt: string | null;
}

const SIGNATURES: Readonly<Record<CheckResult['signature'], string>> = {
  ACCEPTED: 'It accepted the signature, or does not check it.',
  REJECTED: 'It rejected the signature: does it know this queue’s signing secret?',
  UNKNOWN: 'It is not known whether it accepts the signature.',
};

export function sentenceOfCheck(
  { webhookStatusCode, durationMs, error, errorCode, signature, certificateEndsAt }: CheckResult,
  webhookTimeoutSeconds: number,
): { text: string; signal: Signal; icon: IconName } {
  const cause = causeOf(error, webhookTimeoutSeconds);
  const answer =
    webhookStatusCode === null
      ? `${cause.charAt(0).toUpperCase()}${cause.slice(1)}${errorCode === null ? '' : ` (${errorCode})`}.`
      : `The receiver answered ${webhookStatusCode} in ${took(durationMs)}.`;
  const outcome =
    error === null ? ({ signal: 'ok', icon: 'done' } as const) : ({ signal: 'bad', icon: 'failed' } as const);
  const certificate =
    certificateEndsAt === null ? '' : ` Its certificate expires on ${certificateEndsAt.slice(0, 10)}.`;
  return { text: `${answer} ${SIGNATURES[signature]}${certificate}`, ...outcome };
}
