import { useQuery } from '@tanstack/preact-query';
import type { ReactNode } from 'preact/compat';
import { Link, useSearchParams } from 'wouter-preact';
import { toSearch } from '../../../../query/filter/search.ts';
import type { ActionNow } from '../../../../query/schema/fragments.ts';
import { useIsPaused, useWatch } from '../../../api/live/live.ts';
import { keepOld, query } from '../../../api/query.ts';
import { useShell } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { Icon } from '../../../parts/icon.tsx';
import { Page } from '../../../parts/page/page.tsx';
import { useWalk } from '../../../parts/page/walk.ts';
import { Pager } from '../../../parts/pager.tsx';
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { useCalmList, useHeld } from '../../../parts/use-calm-order.ts';
import { isOpen } from '../model/action.ts';
import { sentenceOfActions } from '../model/action-list.ts';
import { Actions as ActionsOperation } from '../operations.ts';
import { ActionsTable } from './actions-table.tsx';

const PAGE = 50;
/** New actions of other people do not come by the stream. */
const AGAIN_MS = 15_000;

export default function Actions() {
  const [params] = useSearchParams();
  const [after, before] = [params.get('after'), params.get('before')];
  const isPaused = useIsPaused();
  const result = useQuery({
    ...query(ActionsOperation, before === null ? { first: PAGE, after } : { last: PAGE, before }),
    ...keepOld,
    refetchInterval: isPaused ? false : AGAIN_MS,
  });
  const list = result.data?.bulkActions;
  useWatch({ actionIds: list?.nodes.filter(isOpen).map(({ id }) => id) ?? [] });
  useWalk();
  const { isHeld, handlers } = useHeld();
  const actions = useCalmList(list?.nodes ?? [], isHeld);
  return (
    <Head actions={list?.nodes} isFirstPage={list?.pageInfo.hasPreviousPage !== true}>
      <Failure result={result} what="The list of actions" />
      {list === undefined && result.isLoading && <Skeleton lines={5} />}
      {list?.nodes.length === 0 && <NoActions />}
      {list !== undefined && list.nodes.length > 0 && (
        <div {...handlers}>
          <ActionsTable actions={actions} caption="Actions, the newest first" />
          <Pager info={list.pageInfo} pathTo={(place) => `/actions${toSearch(place)}`} />
        </div>
      )}
    </Head>
  );
}

function Head({
  actions,
  isFirstPage,
  children,
}: {
  actions: readonly ActionNow[] | undefined;
  isFirstPage: boolean;
  children: ReactNode;
}) {
  const view = useView();
  const here = new Set(actions?.map(({ id }) => id));
  const elsewhere = useShell()?.running.nodes.filter(({ id }) => !here.has(id)).length ?? 0;
  const running = actions?.filter(({ status }) => status === 'RUNNING').length ?? 0;
  return (
    <Page
      title={running === 0 ? 'Actions' : `${running} running`}
      crumbs={[{ label: 'Actions' }]}
      sign={{ icon: 'actions', signal: running === 0 ? 'idle' : 'run' }}
      h1={
        actions === undefined ? 'Actions' : <Phrase pieces={sentenceOfActions(actions, isFirstPage, view, elsewhere)} />
      }
      lead="An action changes many jobs at once, and continues without this page."
    >
      {children}
    </Page>
  );
}

function NoActions() {
  return (
    <Empty title="No actions yet" icon="actions">
      <p>
        Replay a cause of dead letters, or cancel all jobs that match a filter. You see what it affects before it
        starts, and can stop it at any time.
      </p>
      <div className="toolbar">
        <Link className="btn tiny" href="/dead">
          <Icon name="dead" />
          Dead letters
        </Link>
        <Link className="btn tiny" href="/jobs">
          <Icon name="jobs" />
          Jobs
        </Link>
      </div>
    </Empty>
  );
}
