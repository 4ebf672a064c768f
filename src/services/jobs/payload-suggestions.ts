import type { Database } from '../../db/connection/database.ts';
import { SearchBudget } from '../../db/search/budget.ts';
import { type PayloadSample, samplePayloads } from '../../db/search/payload-sample.ts';
import type { Account } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import type { JobFilter } from '../../domain/job-filter.ts';
import { payloadHint } from '../../domain/payload-hint.ts';
import { parsePath, pathsOf, valuesAt } from '../../domain/payload-path.ts';
import { isStorableText } from '../../domain/text.ts';
import { inSlices } from '../../pacing/slices.ts';

export interface PayloadValue {
  /** The path, or the value as text. */
  value: string;
  /** Number of sampled payloads that have it. */
  count: number;
  /** For a path: all its values are numbers. */
  isNumber?: boolean;
}

const UNSEARCHED = 'payloads that are encrypted or larger than 64 KiB are not searched';

/** Longer texts are not suggested. */
const MAX_SUGGESTION_LENGTH = 256;

interface Payload {
  size: number;
  value: unknown;
}

interface Sample extends Omit<PayloadSample, 'payloads'> {
  payloads: Payload[];
}

/**
 * Paths and values that occur in recent payloads. A sample has 2 MiB, so it is parsed in slices.
 * @param request the budget of one request, which then reads and parses each sample once
 */
export function createPayloadSuggestions(
  db: Database,
  windowOf: (account: Account) => number,
  request?: { budget: SearchBudget },
) {
  const samples = new Map<string, Promise<Sample>>();
  const read = async (account: Account, queueId: string | null): Promise<Sample> => {
    if (queueId !== null && !isId(queueId)) return { payloads: [], jobs: 0, unsearched: 0 };
    const { budget } = request ?? { budget: new SearchBudget() };
    const scope = { accountId: account.id, queueId, windowMs: windowOf(account) };
    const sampled = await samplePayloads(db.reading(account.id, { budget }), scope);
    const payloads: Payload[] = [];
    await inSlices(
      sampled.payloads.map((value) => ({ size: value.length, value })),
      ({ size, value }) => payloads.push({ size, value: JSON.parse(value) as unknown }),
    );
    return { ...sampled, payloads };
  };
  const sample = (account: Account, queueId: string | null): Promise<Sample> => {
    if (request === undefined) return read(account, queueId);
    const present = samples.get(queueId ?? '') ?? read(account, queueId);
    samples.set(queueId ?? '', present);
    return present;
  };
  const countTexts = async (payloads: Payload[], textsOf: (payload: unknown) => string[], start: string) => {
    const counts = new Map<string, number>();
    await inSlices(payloads, ({ value }) => {
      for (const text of textsOf(value)) {
        if (text.length > MAX_SUGGESTION_LENGTH || !text.toLowerCase().startsWith(start)) continue;
        counts.set(text, (counts.get(text) ?? 0) + 1);
      }
    });
    return counts;
  };

  return {
    /**
     * Returns why the payload conditions of a filter may match nothing, from recent jobs; null if there is no reason.
     * @throws JobferryError `invalid_request` (path), `unavailable`
     */
    async payloadHint(
      account: Account,
      { payload, queueIds }: Pick<JobFilter, 'payload' | 'queueIds'>,
    ): Promise<string | null> {
      if (payload === undefined) return null;
      const [queueId = null, ...others] = queueIds ?? [];
      const { payloads, jobs, unsearched } = await sample(account, others.length === 0 ? queueId : null);
      const hint = await payloadHint(payload, (visit) => inSlices(payloads, ({ value }) => visit(value)));
      const left = unsearched === 0 ? null : `${UNSEARCHED}: ${unsearched} of the newest ${jobs}`;
      return hint !== null && left !== null ? `${hint}; ${left}` : (hint ?? left);
    },

    /**
     * Returns paths that occur in recent payloads, most frequent first.
     * @param queueId null: all queues
     * @throws JobferryError `invalid_request` (prefix), `unavailable`
     */
    async payloadPaths(
      account: Account,
      queueId: string | null,
      prefix: string,
      limit: number,
    ): Promise<PayloadValue[]> {
      assertPrefix(prefix);
      const { payloads } = await sample(account, queueId);
      const paths = largest(await countTexts(payloads, pathsOf, prefix.toLowerCase()), limit);
      const read = paths.map((one) => ({ one, names: parsePath(one.value), isNumber: true }));
      await inSlices(payloads, ({ value }) => {
        for (const path of read)
          path.isNumber &&= valuesAt(value, path.names).every((found) => found === null || typeof found === 'number');
      });
      return read.map(({ one, isNumber }) => ({ ...one, isNumber }));
    },

    /**
     * Returns values that occur at a path in recent payloads, most frequent first.
     * @param queueId null: all queues
     * @throws JobferryError `invalid_request` (path or prefix), `unavailable`
     */
    async payloadValues(
      account: Account,
      queueId: string | null,
      path: string,
      prefix: string,
      limit: number,
    ): Promise<PayloadValue[]> {
      assertPrefix(prefix);
      const names = parsePath(path);
      const valuesOf = (payload: unknown) => valuesAt(payload, names).map(String);
      const { payloads } = await sample(account, queueId);
      return largest(await countTexts(payloads, valuesOf, prefix.toLowerCase()), limit);
    },
  };
}

/** The first `limit` in order. There may be 100 000, and sorting all of them would block the event loop. */
function largest(counts: ReadonlyMap<string, number>, limit: number): PayloadValue[] {
  const best: PayloadValue[] = [];
  for (const [value, count] of counts) {
    const item = { value, count };
    if (best.length >= limit && !isBefore(item, best[best.length - 1])) continue;
    let place = best.length;
    while (place > 0 && isBefore(item, best[place - 1])) place -= 1;
    best.splice(place, 0, item);
    if (best.length > limit) best.pop();
  }
  return best;
}

/** More frequent values come first; equally frequent ones are in alphabetical order. */
function isBefore(one: PayloadValue, other: PayloadValue | undefined): boolean {
  if (other === undefined) return false;
  return one.count > other.count || (one.count === other.count && one.value < other.value);
}

function assertPrefix(prefix: string): void {
  if (prefix.length > MAX_SUGGESTION_LENGTH || !isStorableText(prefix)) {
    throw new JobferryError(
      'invalid_request',
      `prefix: at most ${MAX_SUGGESTION_LENGTH} characters, and neither NUL nor lone surrogates`,
    );
  }
}
