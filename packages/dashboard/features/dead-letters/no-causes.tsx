import { Link } from 'wouter-preact';
import { DEAD_LETTERS, type DeadFilter } from '../../../query/filter/dead-letters.ts';
import { formatChip, formatFilter, labelOf, removeChip, setChip, shownChips } from '../../../query/filter/engine.ts';
import { asSentence } from '../../../query/words/format.ts';
import { MeantQueues } from '../../parts/found-queues.tsx';
import { Empty } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { deadPath } from './use-dead-filter.ts';

/** Nothing matches, or all is well: these are not the same. */
export function NoCauses({
  filter,
  unknown,
  newestAt,
  hint,
}: {
  filter: DeadFilter;
  /** A queue of the filter that there is not. */
  unknown: string | undefined;
  newestAt: string | null;
  /** Why a condition on payloads may match nothing. */
  hint: string | null;
}) {
  if (formatFilter(DEAD_LETTERS, filter) !== '') {
    const why = unknown === undefined ? hint : `there is no queue ${unknown}`;
    return (
      <Empty title="No dead letter matches all of these">
        <p>{why !== null && `${asSentence(why)} `}Remove one:</p>
        <div className="toolbar">
          {unknown !== undefined && (
            <MeantQueues
              text={unknown}
              href={(name) => deadPath(setChip(filter, { word: 'queue', value: [name] }), 'causes')}
            />
          )}
          {shownChips(DEAD_LETTERS, filter).map((chip) => {
            const { key, value } = labelOf(DEAD_LETTERS, chip);
            return (
              <Link
                key={formatChip(DEAD_LETTERS, chip)}
                className="btn tiny"
                href={deadPath(removeChip(DEAD_LETTERS, filter, chip), 'causes')}
              >
                Without {key} {value}
              </Link>
            );
          })}
        </div>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing to do here" icon="done" signal="ok">
      <p>
        Jobs whose last attempt fails appear here by cause, and can be replayed.
        {newestAt !== null && (
          <>
            {' '}
            The last one died at <Time at={newestAt} /> and was replayed.
          </>
        )}
      </p>
      {newestAt !== null && (
        <Link className="btn tiny" href="/dead?q=replayed:any">
          Show the replayed ones
        </Link>
      )}
    </Empty>
  );
}
