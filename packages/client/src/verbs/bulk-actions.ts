import type { CallOptions } from '../calls.ts';
import { JobferryApiError } from '../errors.ts';
import { ACTION, type Ask, type ById, ERROR } from './ask.ts';
import { graphql } from './document.ts';
import { poll } from './poll.ts';
import type { BulkAction } from './types.ts';

/**
 * Work on many jobs that was started. The API key needs the scopes `read` and `manage`.
 * Each method throws a `JobferryApiError` for a refusal.
 */
export interface BulkActionVerbs {
  /** Returns a bulk action as it is now. */
  get(id: string, options?: CallOptions): Promise<BulkAction>;
  /** Pauses it after its present batch. */
  pause(id: string, options?: CallOptions): Promise<void>;
  /** Lets it go on where it was paused. */
  resume(id: string, options?: CallOptions): Promise<void>;
  /** Ends it. What it has done stays done. */
  cancel(id: string, options?: CallOptions): Promise<void>;
  /**
   * Waits until it has ended, and returns it. Give a `signal` such as `AbortSignal.timeout(60_000)` to wait no longer.
   */
  waitForEnd(id: string, options?: CallOptions): Promise<BulkAction>;
}

/** @internal */
export function bulkActionVerbs(ask: Ask): BulkActionVerbs {
  const get = async (id: string, { signal }: CallOptions = {}): Promise<BulkAction> => {
    const call = `bulkActions.get(${id})`;
    const options = { signal, isRepeatable: true };
    const { action } = await ask.document(call, GET, { id }, options);
    if (action === null) throw new JobferryApiError({ status: 404, body: { error: 'bulk action not found' } }, call);
    return action;
  };
  const change = async (verb: string, operation: ById, id: string, { signal }: CallOptions = {}): Promise<void> =>
    void (await ask.result(
      `bulkActions.${verb}(${id})`,
      operation,
      { id },
      { signal, isRepeatable: verb !== 'cancel' },
    ));
  return {
    get,
    pause: (id, options) => change('pause', PAUSE, id, options),
    resume: (id, options) => change('resume', RESUME, id, options),
    cancel: (id, options) => change('cancel', CANCEL, id, options),
    waitForEnd: (id, options = {}) =>
      poll(
        () => get(id, options),
        ({ status }) => status !== 'RUNNING' && status !== 'PAUSED',
        options.signal,
      ),
  };
}

const GET = graphql(`query ($id: ID!) { action: bulkAction(id: $id) { ${ACTION} } }`);
const PAUSE = graphql(`mutation ($id: ID!) { result: pauseBulkAction(id: $id) { ${ERROR} } }`);
const RESUME = graphql(`mutation ($id: ID!) { result: resumeBulkAction(id: $id) { ${ERROR} } }`);
const CANCEL = graphql(`mutation ($id: ID!) { result: cancelBulkAction(id: $id) { ${ERROR} } }`);
