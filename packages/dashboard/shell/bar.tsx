import { useSyncExternalStore } from 'preact/compat';
import { Link } from 'wouter-preact';
import { many, span, time } from '../../query/words/format.ts';
import { liveState, pause, togglePause, tryNow } from '../api/live/live.ts';
import { queryClient } from '../api/query.ts';
import { useServer } from '../api/server.ts';
import { useStore } from '../base/store.ts';
import { useView } from '../base/time.ts';
import { Icon } from '../parts/icon.tsx';
import { Note } from '../parts/note.tsx';

/** The one bar for what the whole product must say: the worst that holds, and only that. */
export function ProductBar() {
  const server = useServer();
  const paused = useStore(pause);
  const { staleSince } = useStore(liveState);
  const isOther = useIsOtherVersion();
  const bar = () => {
    if (server !== null && !server.hasWorker) return <NoWorker lastSeenAt={server.lastWorkerSeenAt} />;
    if (isOther) return <OtherVersion />;
    if (staleSince !== null) return <Stale since={staleSince} />;
    if (paused !== null) return <Paused waiting={paused.waiting} />;
    if (server !== null && server.versions.length > 1) return <MixedVersions versions={server.versions} />;
    if (server !== null && server.version !== __VERSION__) return <NewVersion />;
    return null;
  };
  const shown = bar();
  return shown === null ? null : <div className="bar wide">{shown}</div>;
}

function NoWorker({ lastSeenAt }: { lastSeenAt: string | null }) {
  const view = useView();
  return (
    <Note signal="bad" icon="failing">
      <b>No worker is running.</b> Jobs are accepted and wait.{' '}
      {lastSeenAt !== null && `The last worker was seen at ${time(Date.parse(lastSeenAt), view)}. `}
      <Link href="/system">System</Link>
    </Note>
  );
}

function Stale({ since }: { since: number }) {
  const view = useView();
  const { nextTryAt } = useStore(liveState);
  return (
    <Note
      signal="warn"
      icon="failing"
      action={
        <button type="button" className="btn tiny" onClick={tryNow}>
          Try now
        </button>
      }
    >
      <b>Stale since {time(since, view)}.</b> The connection is lost; what you see is {span(view.now - since)} old.{' '}
      {nextTryAt === null ? 'Connecting.' : `Next try in ${span(nextTryAt - view.now)}.`}
    </Note>
  );
}

function Paused({ waiting }: { waiting: number }) {
  return (
    <Note
      icon="paused"
      action={
        <button type="button" className="btn tiny" onClick={togglePause}>
          <Icon name="play" />
          Continue
        </button>
      }
    >
      <b>Updates are paused.</b> {many(waiting, 'change waits', 'changes wait')}.
    </Note>
  );
}

function MixedVersions({ versions }: { versions: readonly string[] }) {
  return (
    <Note signal="warn" icon="info">
      <b>Processes of {versions.length} versions are running:</b> {versions.join(', ')}.{' '}
      <Link href="/system">System</Link>
    </Note>
  );
}

const RELOAD = (
  <button type="button" className="btn tiny" onClick={() => location.reload()}>
    Reload
  </button>
);

const cache = queryClient.getQueryCache();
const subscribe = (onChange: () => void) => cache.subscribe(onChange);
const isOtherVersion = () => cache.getAll().some(({ state }) => state.fetchFailureReason?.kind === 'version');

/** Whether something on the page waits, because a process refused what it does not know. */
function useIsOtherVersion(): boolean {
  return useSyncExternalStore(subscribe, isOtherVersion);
}

function OtherVersion() {
  return (
    <Note signal="warn" icon="info" action={RELOAD}>
      <b>Another version of Jobferry answered,</b> as during an upgrade. The page keeps what it shows, and retries.
    </Note>
  );
}

function NewVersion() {
  return (
    <Note signal="run" action={RELOAD}>
      <b>A new version of this page is ready.</b> Your place and your filter stay.
    </Note>
  );
}
