import type { SchemaType } from '../../query/schema/types.ts';

/** A rule that a page proposes: it would have reported what the page shows. */
export interface NewAlert {
  kind: SchemaType<'AlertKind'>;
  /** Null for all queues. */
  queue: { id: string; name: string } | null;
  /** Null for the default of the kind. */
  threshold: number | null;
}

const DIGITS = /^[\d.]{1,10}$/;

/** The parameters of the address of Alerts, which opens the dialog with the rule. */
export function paramsOfAlert({ kind, queue, threshold }: NewAlert): Record<string, string | null> {
  const limit = threshold === null ? null : String(threshold);
  return { new: kind, queue: queue?.name ?? null, id: queue?.id ?? null, threshold: limit };
}

/** Noted in the history by the link to the dialog, so that a cancel leads back to the page with the link. */
export const FROM_PAGE = { newAlert: 'from page' };

/** Whether the entry of the history was made by that link, and not by an address that was typed or sent. */
export const isFromPage = (state: unknown) =>
  (state as Partial<typeof FROM_PAGE> | null)?.newAlert === FROM_PAGE.newAlert;

/** Reads them again. Returns null if there is no such rule. */
export function alertOfParams(params: URLSearchParams, kinds: readonly NewAlert['kind'][]): NewAlert | null {
  const kind = kinds.find((one) => one === params.get('new'));
  if (kind === undefined) return null;
  const [name, id, limit] = ['queue', 'id', 'threshold'].map((param) => params.get(param));
  return {
    kind,
    queue: name == null || id == null ? null : { id, name },
    threshold: limit != null && DIGITS.test(limit) ? Number(limit) : null,
  };
}
