import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBackpressure, retryAfterMs } from '../domain/outcome.ts';
import {
  type ExaminationFinding,
  type Examined,
  isSuccess,
  judgeForgery,
  judgeReach,
  judgeTogether,
  judgeUnusual,
  type SeenAnswer,
  type Setting,
  skipped,
  statusOf,
  type Unusual,
} from '../domain/receiver-examination.ts';
import { buildEnvelope } from './envelope.ts';
import type { AnswerHeaders } from './exchange.ts';
import type { Sender, TestOptions } from './send.ts';

const MOST_AT_ONCE = 20;
/** The largest payload with the service's default limit. */
const LARGE_BYTES = 1024 * 1024 - 200;
/** A busy receiver is asked once more after this long at most. */
const BUSY_MS = 3000;
/** After so many requests without an answer the others are not sent: each takes the whole time limit. */
const MOST_SILENT = 2;
/** No request is sent after this time: an examination takes one of the places that all accounts share. */
const LIMIT_MS = 60_000;

const AFTER_REACH = ['wrong signature', 'missing signature', 'changed body', 'next signature', 'big numbers'].concat([
  'duplicate keys',
  '1 MiB',
  'same id twice',
  'at once',
]);

export interface ExaminationOptions extends Pick<Setting, 'signatureHeader' | 'timeoutMs' | 'lifetimeMs'> {
  /** Ends the examination when its client has left: no further request is sent. */
  signal?: AbortSignal | undefined;
  /** Milliseconds after which no request is sent. */
  limitMs?: number;
}

/**
 * Sends up to thirty test requests to a receiver, and judges the answers: those with a good signature must all be
 * answered alike, and forged ones refused. They are no jobs, but the receiver may do the work of each.
 */
export async function examine(
  sender: Sender,
  receiver: Examined,
  { signal, limitMs = LIMIT_MS, ...service }: ExaminationOptions,
): Promise<ExaminationFinding[]> {
  const { payload, signingSecret, nextSigningSecret } = receiver;
  const startedAt = performance.now();
  const whyOver = () => {
    if (signal?.aborted === true) return 'the client has left';
    return performance.now() - startedAt >= limitMs ? `the examination took ${limitMs / 1000} s` : null;
  };
  const settingNow = () => ({ ...service, now: receiver.now.getTime() + performance.now() - startedAt });
  const post = createPost(sender, receiver, { now: () => settingNow().now, isOver: () => whyOver() !== null });
  const first = await post({});
  const findings = [judgeReach(first, settingNow())];
  if (!isBasis(first, findings)) {
    return [...findings, ...AFTER_REACH.map((name) => skipped(name, 'not tried, because of the above'))];
  }

  let silent = 0;
  const whyNot = () => (silent >= MOST_SILENT ? 'the receiver does not answer' : whyOver());
  const add = async (name: string, judge: () => Promise<[ExaminationFinding, SeenAnswer | null]>) => {
    const why = whyNot();
    if (why !== null) {
      findings.push(skipped(name, `not tried, because ${why}`));
      return;
    }
    const [finding, seen] = await judge();
    if (seen !== null && statusOf(seen) === null) silent += 1;
    findings.push(finding);
  };
  const forged = (name: string, request: PostOptions, sent: string, isRawBody = false) =>
    add(name, async () => {
      const seen = await post({ nextSecret: null, ...request });
      return [judgeForgery(name, { first, seen, sent }, service, isRawBody), seen];
    });
  const unusual = (name: Unusual, request: PostOptions) =>
    add(name, async () => {
      const seen = await post(request);
      return [judgeUnusual(name, { first, seen }, service), seen];
    });

  const other = randomBytes(32).toString('hex');
  await forged('wrong signature', { secret: other }, 'a wrong signature');
  const verifies = findings.at(-1)?.status === 'ok' && isSuccess(statusOf(first));
  await forged('missing signature', { signs: null }, 'no signature');
  if (verifies) {
    await forged(
      'changed body',
      { secret: signingSecret, isChanged: true },
      'a body with one byte more than was signed',
      true,
    );
  } else findings.push(skipped('changed body', 'nothing shows that signatures are verified'));
  await unusual('next signature', { secret: other, nextSecret: nextSigningSecret ?? signingSecret });
  await unusual('big numbers', { payload: withMember(payload, '"jobferryCheck":9007199254740993') });
  await unusual('duplicate keys', { payload: withMember(payload, '"jobferryCheck":1,"jobferryCheck":2') });
  await unusual('1 MiB', { payload: withMember(payload, `"jobferryCheck":"${fill(payload)}"`) });
  const id = newId();
  if (whyNot() === null) await post({ id });
  await unusual('same id twice', { id });
  await add('at once', async () => {
    const count = Math.max(1, Math.min(MOST_AT_ONCE, receiver.concurrency));
    const all = await Promise.all(Array.from({ length: count }, () => post({ isPatient: false })));
    return [judgeTogether(first, all, settingNow()), null];
  });
  return findings;
}

/** Whether other answers can be compared with the first one. */
function isBasis(first: SeenAnswer, [reach]: readonly ExaminationFinding[]): boolean {
  const status = statusOf(first);
  return reach?.status !== 'failed' && status !== null && !isBackpressure(status);
}

interface PostOptions extends Pick<TestOptions, 'signs'> {
  id?: string;
  payload?: string;
  secret?: string;
  nextSecret?: string | null;
  /** Whether the body that is sent has one more byte than the signed one. It parses to the same value. */
  isChanged?: boolean;
  /** Whether a busy receiver is asked once more; true by default. */
  isPatient?: boolean;
}

function createPost(sender: Sender, receiver: Examined, { now, isOver }: { now(): number; isOver(): boolean }) {
  const { accountId, queueId, name, webhookUrl, ackTimeout, standardWebhooks } = receiver;
  const once = async ({ id = newId(), isChanged = false, ...given }: PostOptions): Promise<SeenAnswer> => {
    const { payload = receiver.payload, secret = receiver.signingSecret, signs } = given;
    const { nextSecret = receiver.nextSigningSecret } = given;
    const fields = { id, queue: name, payload, attempt: 1, maxAttempts: 1, createdAt: receiver.now };
    const signed = buildEnvelope(fields);
    const body = isChanged ? Buffer.concat([signed.subarray(0, 1), Buffer.from(' '), signed.subarray(1)]) : signed;
    let headers: AnswerHeaders = {};
    const result = await sender.send({
      accountId,
      url: webhookUrl,
      secret,
      nextSecret,
      body,
      job: { id, queue: name, queueId, attempt: 1, ackTimeout },
      standardWebhooks,
      test: {
        signs: signs === undefined ? signed : signs,
        onHeaders: (answered) => {
          headers = answered;
        },
      },
    });
    if (result.abandoned) throw new Error('a test request without a claim was abandoned');
    return { answer: result.answer, durationMs: result.durationMs, headers, body: result.responseBody };
  };
  return async ({ isPatient = true, ...options }: PostOptions): Promise<SeenAnswer> => {
    const seen = await once(options);
    const { answer } = seen;
    if (!isPatient || answer.kind !== 'answered' || !isBackpressure(answer.statusCode)) return seen;
    await sleep(Math.min(retryAfterMs(answer.retryAfter, now()), BUSY_MS));
    return isOver() ? seen : once(options);
  };
}

/** @param payload JSON source text of an object */
function withMember(payload: string, member: string): string {
  const rest = payload.slice(payload.indexOf('{') + 1);
  return `{${member}${rest.trimStart().startsWith('}') ? '' : ','}${rest}`;
}

const fill = (payload: string) => 'x'.repeat(Math.max(0, LARGE_BYTES - Buffer.byteLength(payload)));

/** As ids of jobs. */
const newId = () => randomBytes(12).toString('hex');
