import { useQuery } from '@tanstack/preact-query';
import type { ReactNode } from 'preact/compat';
import { Link, useSearchParams } from 'wouter-preact';
import { count } from '../../../query/words/format.ts';
import { shortId } from '../../../query/words/job-id.ts';
import { request } from '../../api/client.ts';
import { showChanged } from '../../api/live/live.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { keepOld, query, queryClient } from '../../api/query.ts';
import { May } from '../../api/rights.ts';
import { useWebhookTimeout } from '../../api/server.ts';
import { serverNow } from '../../base/clock.ts';
import { Icon } from '../../parts/icon.tsx';
import { useCommands } from '../../parts/page/keys.ts';
import { focusedRow, focusRow, sayChooseRow, useWalk } from '../../parts/page/walk.ts';
import { Pager } from '../../parts/pager.tsx';
import { Failure, Skeleton } from '../../parts/states.tsx';
import { Table, unseen } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { titleOfDeath } from '../../words/cause.ts';
import { type DeadLetterRow, DeadLetters, ReplayLetter } from './operations.ts';
import { deadPath, type useDeadFilter } from './use-dead-filter.ts';

const PAGE = 50;

/**
 * Each dead letter, the last that died first; `nothing` if there is none. What is replayed here stays until the list is
 * fetched again, the last one too.
 */
export function OneByOne({
  url: { filter, forApi, key },
  nothing,
}: {
  url: ReturnType<typeof useDeadFilter>;
  nothing: ReactNode;
}) {
  const [params] = useSearchParams();
  const [after, before] = [params.get('after'), params.get('before')];
  const place = before === null ? { first: PAGE, after } : { last: PAGE, before };
  const result = useQuery({
    ...query(DeadLetters, () => ({ filter: forApi?.() ?? {}, ...place }), { key: [key, after, before] }),
    ...keepOld,
    enabled: forApi !== null,
  });
  const list = result.data?.deadLetters;
  const replay = (letter: DeadLetterRow) => {
    replayLetter(letter).catch((error: Error) => toastFailure(`Not replayed: ${error.message}`));
  };
  useWalk();
  useCommands([
    {
      key: 'r',
      label: 'Replay this job',
      icon: 'undo',
      mutation: 'replayDeadLetter',
      run: () => {
        const focused = focusedRow();
        const letter = list?.nodes.find(({ id }) => id === focused);
        if (letter === undefined) sayChooseRow();
        else if (letter.replayedAt === null) replay(letter);
      },
    },
  ]);
  return (
    <>
      <Failure result={result} what="The list" />
      {list === undefined && <Skeleton lines={6} />}
      {list?.nodes.length === 0 && !result.isPlaceholderData && nothing}
      {list !== undefined && list.nodes.length > 0 && (
        <div className={result.isPlaceholderData ? 'dim' : undefined}>
          <Table
            className="cards fixed letters"
            caption={<>{count(list.totalCount, list.totalCountExact)} dead letters, the newest first</>}
            columns={[
              ['Died because', 'c1'],
              ['Job', 'lo1'],
              'Queue',
              ['Attempts', 'lo3 n'],
              ['Died', 'n'],
              unseen('What you can do'),
            ]}
          >
            {list.nodes.map((letter) => (
              <Letter key={letter.id} letter={letter} onReplay={() => replay(letter)} />
            ))}
          </Table>
          <Pager
            info={list.pageInfo}
            pathTo={(at) => deadPath(filter, 'all', at)}
            summary={`${count(list.totalCount, list.totalCountExact)} dead letters`}
          />
        </div>
      )}
    </>
  );
}

const replaying = new Set<string>();

async function replayLetter(letter: DeadLetterRow): Promise<void> {
  if (replaying.has(letter.id)) return;
  replaying.add(letter.id);
  try {
    await sendReplay(letter);
  } finally {
    replaying.delete(letter.id);
  }
}

async function sendReplay(letter: DeadLetterRow): Promise<void> {
  const outcome = outcomeOf((await request(ReplayLetter, { id: letter.id })).replayDeadLetter);
  if (!outcome.ok) return toastFailure(`Not replayed: ${outcome.message}`);
  toast({ text: `Replayed as the new job ${shortId(outcome.value.job.id)}.` });
  // It stays in its row until the list is fetched again: the next one must not move under the pointer.
  const replayedAt = new Date(serverNow()).toISOString();
  showChanged([{ __typename: 'DeadLetter', id: letter.id, replayedAt, replayedJob: outcome.value.job }]);
  for (const name of ['Causes', 'Shell']) void queryClient.invalidateQueries({ queryKey: [name] });
}

/** The title counts attempts. */
const sampleOf = (job: DeadLetterRow['job']) => (job === null ? null : { lastAttempt: { attempt: job.attemptsMade } });

function Letter({ letter, onReplay }: { letter: DeadLetterRow; onReplay: () => void }) {
  const timeout = useWebhookTimeout();
  const { job, queue, replayedJob, replayedAt } = letter;
  const title = titleOfDeath({ ...letter, queue: null, sample: sampleOf(job) }, timeout);
  return (
    <tr data-row={letter.id}>
      <td className="c1">
        <span className="st bad">
          <Icon name="dead" />
          {job === null ? (
            title
          ) : (
            <Link className="rowlink" href={`/jobs/${job.id}`}>
              {title}
            </Link>
          )}
        </span>
      </td>
      <td className="lo1 mono q">{job === null ? 'removed' : shortId(job.id)}</td>
      <td className="c3 cut">{queue?.name ?? 'deleted'}</td>
      <td className="lo3 lo2 lo1 n q">{job?.attemptsMade}</td>
      <td className="c2 n q">
        <Ago at={letter.deadAt} />
      </td>
      <td className="c4 n">
        {replayedAt === null ? (
          <May mutation="replayDeadLetter">
            <button
              type="button"
              className="btn tiny"
              onClick={() => {
                focusRow(letter.id);
                onReplay();
              }}
            >
              <Icon name="undo" />
              Replay
            </button>
          </May>
        ) : replayedJob === null ? (
          <span className="q3">replayed</span>
        ) : (
          <Link className="btn tiny quiet" href={`/jobs/${replayedJob.id}`}>
            as {shortId(replayedJob.id)}
          </Link>
        )}
      </td>
    </tr>
  );
}
