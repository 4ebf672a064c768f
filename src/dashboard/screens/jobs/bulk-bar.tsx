import { useState } from 'react';
import { Link } from 'wouter';
import type { RequestError } from '../../graphql/errors.ts';
import { requestMany } from '../../graphql/many.ts';
import { MAX_MANY, type ManyField } from '../../graphql/many-text.ts';
import type { JobRow } from '../../graphql/operations/fragments.ts';
import { queryClient } from '../../graphql/query.ts';
import type { Filter } from '../../model/filter/chips.ts';
import { toSearch } from '../../model/filter/search.ts';
import { count, many, number } from '../../model/format.ts';
import type { Count } from '../../model/jobs-sentence.ts';
import { may } from '../../model/rights.ts';
import { copy } from '../../parts/copy.tsx';
import { Icon } from '../../parts/icon.tsx';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { useMay, useRights } from '../../shell/rights.ts';
import { CancelAllDialog } from './cancel-all-dialog.tsx';
import type { ListUrl } from './list-url.ts';
import type { Ticks } from './use-ticks.ts';

/** What can be done with the ticked jobs, or with all that match. */
export function BulkBar({
  ticks,
  rows,
  all,
  filter,
  url,
}: {
  ticks: Ticks;
  rows: readonly JobRow[];
  all: Count | null;
  filter: Filter;
  url: ListUrl;
}) {
  if (ticks.isAll) return <AllBar ticks={ticks} all={all} filter={filter} url={url} />;
  return <TickedBar ticks={ticks} rows={rows} all={all} />;
}

function TickedBar({ ticks, rows, all }: { ticks: Ticks; rows: readonly JobRow[]; all: Count | null }) {
  const canTickAll = useMay('cancelJobs');
  if (ticks.ids.size === 0) return null;
  const ticked = rows.filter(({ id }) => ticks.ids.has(id));
  const total = all === null ? '' : count(all.count, all.exact);
  return (
    <div className="bulk">
      <span>
        <b>{number(ticked.length)} ticked.</b> The list stands still.
      </span>
      {canTickAll && all !== null && all.count > ticked.length && (
        <button type="button" className="btn quiet tiny accent" onClick={ticks.tickAll}>
          Tick all {total} that match
        </button>
      )}
      <span className="end">
        <TickedButtons ticked={ticked} onDone={ticks.clear} />
        <button
          type="button"
          className="btn tiny"
          onClick={() => void copy(ticked.map(({ id }) => id).join('\n'), many(ticked.length, 'id'))}
        >
          Copy ids
        </button>
        <Untick onClick={ticks.clear} />
      </span>
    </div>
  );
}

interface Deed {
  field: ManyField;
  label: (text: string) => string;
  done: (text: string) => string;
  icon: 'play' | 'undo' | 'x';
  /** The id that the mutation takes; null for jobs to which it does not apply. */
  idOf: (job: JobRow) => string | null;
}

const DEEDS: readonly Deed[] = [
  {
    field: 'runNow',
    label: (n) => `Run ${n} now`,
    done: (jobs) => `${jobs} due now`,
    icon: 'play',
    idOf: ({ id, status }) => (status === 'PENDING' ? id : null),
  },
  {
    field: 'replayDeadLetter',
    label: (n) => `Replay ${n}`,
    done: (jobs) => `${jobs} published again`,
    icon: 'undo',
    idOf: ({ deadLetter }) => (deadLetter?.replayedAt === null ? deadLetter.id : null),
  },
  {
    field: 'cancelJob',
    label: (n) => `Cancel ${n}`,
    done: (jobs) => `${jobs} cancelled`,
    icon: 'x',
    idOf: ({ id, status }) => (status === 'PENDING' || status === 'AWAITING_ACK' ? id : null),
  },
];

function TickedButtons({ ticked, onDone }: { ticked: readonly JobRow[]; onDone: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const rights = useRights();
  const run = async ({ field, done }: Deed, ids: readonly string[]) => {
    setBusy(true);
    await runMany(field, ids, done);
    setBusy(false);
    onDone();
  };
  return DEEDS.map((deed) => {
    const ids = ticked.flatMap((job) => deed.idOf(job) ?? []).slice(0, MAX_MANY);
    if (ids.length === 0 || !may(rights, deed.field)) return null;
    return (
      <button
        key={deed.field}
        type="button"
        className="btn tiny"
        aria-disabled={isBusy}
        onClick={() => {
          if (!isBusy) void run(deed, ids);
        }}
      >
        <Icon name={deed.icon} />
        {deed.label(number(ids.length))}
      </button>
    );
  });
}

async function runMany(field: ManyField, ids: readonly string[], done: Deed['done']): Promise<void> {
  try {
    const { succeeded, refusal } = await requestMany(field, ids);
    const text = done(many(succeeded, 'job is', 'jobs are'));
    if (refusal === null) toast({ text });
    else toastFailure(`${text}; ${number(ids.length - succeeded)} not: ${refusal}`);
    void queryClient.invalidateQueries({ queryKey: ['JobsPage'] });
  } catch (error) {
    toastFailure((error as RequestError).message);
  }
}

function AllBar({ ticks, all, filter, url }: { ticks: Ticks; all: Count | null; filter: Filter; url: ListUrl }) {
  const [isAsked, setAsked] = useState(false);
  const total = all === null ? '' : count(all.count, all.exact);
  return (
    <div className="bulk">
      <span>
        <b>All {total} that match are ticked,</b> on every page.
      </span>
      <span className="end">
        <Link className="btn tiny" href={`/dead${toSearch({ q: url.q })}`}>
          <Icon name="undo" />
          Replay in Dead letters
        </Link>
        <button type="button" className="btn tiny" onClick={() => setAsked(true)}>
          <Icon name="x" />
          Cancel all…
        </button>
        <Untick onClick={ticks.clear} />
      </span>
      {isAsked && (
        <CancelAllDialog
          filter={filter}
          url={url}
          onClose={() => setAsked(false)}
          onDone={() => {
            setAsked(false);
            ticks.clear();
          }}
        />
      )}
    </div>
  );
}

function Untick({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" className="btn quiet icon tiny" aria-label="Untick all" onClick={onClick}>
      <Icon name="x" />
    </button>
  );
}
