import type { ReactNode } from 'preact/compat';
import { useEffect, useState } from 'preact/compat';
import { Link, useLocation } from 'wouter-preact';
import { asSentence, span, time } from '../../query/words/format.ts';
import type { IconName, Signal } from '../../query/words/words.ts';
import type { RequestError } from '../api/errors.ts';
import { useView } from '../base/time.ts';
import { Icon } from './icon.tsx';
import { Note } from './note.tsx';

/** The states that every screen has: first load, failed, nothing there. */

/** An answer that is faster shows no trace of loading. */
const LATE_MS = 300;

/** Whether an answer is late: it has been waited for for 300 ms, or so long. */
export function useIsLate(isWaiting: boolean, ms = LATE_MS): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(() => setLate(true), ms);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [isWaiting, ms]);
  return isWaiting && isLate;
}

/** Only on the first visit, after 300 ms. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const isLate = useIsLate(true);
  if (!isLate) return null;
  return (
    <div className="panel">
      <div className="in" role="status" aria-label="Loading">
        {Array.from({ length: lines }, (_, line) => (
          <span key={line} className="skel" style={{ inlineSize: `${[70, 92, 55][line % 3]}%` }} />
        ))}
      </div>
    </div>
  );
}

/** In an address: a person may have changed it, or it is of another release. */
const PLACE = /(after|before)=[^&]*&?/;

/** The part of a query's result that says how it is going. */
export interface QueryState {
  error: RequestError | null;
  failureReason: RequestError | null;
  dataUpdatedAt: number;
  data: unknown;
  refetch: (options?: { cancelRefetch?: boolean }) => unknown;
}

/**
 * Says why a part of the page is not current: what, since when, and when the next try is. Old rows stay under it. Null
 * while all is well.
 */
export function Failure({ result, what }: { result: QueryState; what: string }) {
  const view = useView();
  const [path] = useLocation();
  const error = result.error ?? result.failureReason;
  if (error === null || error.kind === 'signed-out') return null;
  const isRetried = result.error === null && error.nextTryAt !== null;
  return (
    <div className="bar">
      <Note
        signal="bad"
        icon="failing"
        action={
          <button type="button" className="btn tiny" onClick={() => result.refetch({ cancelRefetch: true })}>
            Try now
          </button>
        }
      >
        {/* The countdown is not announced. */}
        <span role="alert">
          <b>{what} could not be loaded.</b> {asSentence(error.message)}
        </span>{' '}
        It was at {time(error.at, view)}. {result.data !== undefined && 'What you see is older. '}
        {error.kind === 'refused' && PLACE.test(location.search) && (
          <Link className="link" href={path + location.search.replace(PLACE, '')}>
            Show the list from its start
          </Link>
        )}
        {isRetried && error.nextTryAt !== null && `Next try in ${span(error.nextTryAt - view.now)}.`}
      </Note>
    </div>
  );
}

/** Nothing to show, and why. Not for "could not be loaded". */
export function Empty({
  title,
  icon,
  signal,
  children,
}: {
  title: string;
  icon?: IconName;
  signal?: Signal;
  children?: ReactNode;
}) {
  return (
    <div className="empty">
      <b className={signal}>
        {icon !== undefined && <Icon name={icon} />}
        {title}
      </b>
      {children}
    </div>
  );
}
