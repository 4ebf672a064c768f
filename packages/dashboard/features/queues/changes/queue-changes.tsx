import './queue-changes.css';
import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/compat';
import { Link, useLocation, useSearchParams } from 'wouter-preact';
import { changesPath } from '../../../../query/filter/activity.ts';
import { queuePath } from '../../../../query/filter/links.ts';
import { toSearch } from '../../../../query/filter/search.ts';
import type { ChangeEntry } from '../../../../query/schema/fragments.ts';
import { time } from '../../../../query/words/format.ts';
import { useIsPaused } from '../../../api/live/live.ts';
import { keepOld, query } from '../../../api/query.ts';
import { May } from '../../../api/rights.ts';
import { useView } from '../../../base/time.ts';
import { Difference } from '../../../parts/difference.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { GoneQueue } from '../../../parts/page/gone-queue.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { Page } from '../../../parts/page/page.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx';
import { Phrase, Time } from '../../../parts/time.tsx';
import { phrase } from '../../../words/phrase.ts';
import { actionOnQueue, QUEUE_ACTIONS } from '../../../words/queue-actions.ts';
import { inWords, reversalOf, whyNot } from '../model/queue-changes.ts';
import { QueueChanges as QueueChangesQuery } from '../operations/queue-changes.ts';
import { type QueueOfSettings, QueueSettings } from '../operations/queue-settings.ts';
import { RevertDialog } from './revert.tsx';

const PAGE = 25;
const AGAIN_MS = 30_000;
/** So many settings stand open; more are behind a click. */
const SHOWN = 4;

/** The changelog of a queue: what was changed, by which person or key, and a way back. */
export default function QueueChanges({ params: { name = '' } }: { params: Record<string, string> }) {
  const settings = useQuery(query(QueueSettings, { name }));
  const queue = settings.data?.queue;
  const [, navigate] = useLocation();
  useCommands([{ key: 'Escape', label: `Back to ${name}`, run: () => navigate(queuePath(name)), isOnlyKey: true }]);
  if (queue === null) return <GoneQueue name={name} />;
  if (queue === undefined) {
    return (
      <Page title={`Changes of ${name}`} crumbs={crumbsOf(name)} h1={`Changes of ${name}`}>
        <Failure result={settings} what="This queue" />
        <Skeleton lines={6} />
      </Page>
    );
  }
  return <Changes queue={queue} onChanged={() => void settings.refetch()} />;
}

const crumbsOf = (name: string) => [
  { label: 'Queues', to: '/queues' },
  { label: name, to: queuePath(name) },
  { label: 'Changes' },
];

function Changes({ queue, onChanged }: { queue: QueueOfSettings; onChanged: () => void }) {
  const { id, name } = queue;
  const view = useView();
  const [params] = useSearchParams();
  const [after, before] = [params.get('after'), params.get('before')];
  const isPaused = useIsPaused();
  const result = useQuery({
    ...query(QueueChangesQuery, { id, ...(before === null ? { first: PAGE, after } : { last: PAGE, before }) }),
    ...keepOld,
    refetchInterval: isPaused ? false : AGAIN_MS,
  });
  const [opened, setOpened] = useState<ChangeEntry | null>(null);
  const list = result.data?.auditLog;
  const newest = list?.nodes[0];
  const back = opened === null ? null : reversalOf(opened, queue);
  const refresh = () => {
    onChanged();
    void result.refetch();
  };
  return (
    <Page
      title={`Changes of ${name}`}
      crumbs={crumbsOf(name)}
      sign={{
        icon: newest === undefined ? 'activity' : (QUEUE_ACTIONS[newest.action]?.icon ?? 'activity'),
        signal: 'idle',
      }}
      h1={
        newest === undefined || list?.pageInfo.hasPreviousPage === true ? (
          `Changes of ${name}`
        ) : (
          <Phrase pieces={headOf(newest, Date.parse(newest.at), time(Date.parse(newest.at), view))} />
        )
      }
      lead={`What was changed in ${name}, the newest first. Settings can be reverted, secrets cannot.`}
    >
      <Failure result={result} what="The changes" />
      {list === undefined && result.isLoading && <Skeleton lines={6} />}
      {list?.nodes.length === 0 && <Empty title="Nothing has been changed yet" icon="activity" />}
      {list !== undefined && list.nodes.length > 0 && (
        <div className={result.isPlaceholderData ? 'dim' : undefined}>
          <ol className="changelog">
            {list.nodes.map((entry) => (
              <Entry key={entry.id} entry={entry} queue={queue} onRevert={() => setOpened(entry)} />
            ))}
          </ol>
          <Pager info={list.pageInfo} pathTo={(place) => `${queuePath(name, '/changes')}${toSearch({ ...place })}`} />
        </div>
      )}
      {opened !== null && back !== null && (
        <RevertDialog entry={opened} queue={queue} back={back} onDone={refresh} onClose={() => setOpened(null)} />
      )}
    </Page>
  );
}

const headOf = (entry: ChangeEntry, at: number, text: string) =>
  phrase`${entry.actor} ${actionOnQueue(entry)} at ${{ at, text }}.`;

function Entry({ entry, queue, onRevert }: { entry: ChangeEntry; queue: QueueOfSettings; onRevert: () => void }) {
  const changes = inWords(entry);
  const back = reversalOf(entry, queue);
  const why = whyNot(entry, back);
  const at = Date.parse(entry.at);
  const action = actionOnQueue(entry);
  return (
    <li>
      <span className="q at">
        <Time at={entry.at} />
      </span>
      <div>
        <h2>
          <Icon name={QUEUE_ACTIONS[entry.action]?.icon ?? 'activity'} />
          <Link className="link" href={changesPath(queue.id, { from: at, to: at })}>
            {entry.actor} {action}
          </Link>
        </h2>
        <Differences changes={changes} />
        {why !== null && <p className="small q">{why}</p>}
      </div>
      <span className="buttons">
        {back !== null && back.changes.length > 0 && (
          <May mutation={entry.action === 'queue.set_breaker' ? 'setBreaker' : 'updateQueue'}>
            <button type="button" className="btn tiny" onClick={onRevert}>
              <Icon name="undo" />
              Revert…<span className="sr"> what {entry.actor} changed</span>
            </button>
          </May>
        )}
      </span>
    </li>
  );
}

function Differences({ changes }: { changes: ReturnType<typeof inWords> }) {
  if (changes.length === 0) return null;
  const list = (
    <dl className="diff">
      {changes.map((change) => (
        <Difference key={change.label} {...change} />
      ))}
    </dl>
  );
  if (changes.length <= SHOWN) return list;
  return (
    <details>
      <summary>{changes.length} settings</summary>
      {list}
    </details>
  );
}
