import { Suspense, useEffect, useLayoutEffect } from 'preact/compat';
import { Route, Switch, useLocation } from 'wouter-preact';
import { afterFirstRead } from '../api/first-read.ts';
import { followed } from '../api/followed-actions.ts';
import { togglePause } from '../api/live/live.ts';
import { closeOverlay, openPalette, overlay } from '../base/overlay.ts';
import { usePlaces } from '../base/place.ts';
import { setPreference } from '../base/preferences.ts';
import { useStore } from '../base/store.ts';
import { listenForKeys, useCommands } from '../parts/page/keys.ts';
import { late } from '../parts/page/late.tsx';
import { NotFound } from '../parts/page/not-found.tsx';
import { signOut } from '../parts/page/sign-out.ts';
import { Skeleton } from '../parts/states.tsx';
import { Toasts } from '../parts/toast.tsx';
import { MyActions, ROUTES } from '../routes.ts';
import { ProductBar } from './bar.tsx';
import { Breakable } from './broken.tsx';
import { MAIN, SERVICE } from './navigation.ts';
import { Rail, TabBar, TopBar } from './rail.tsx';

const loadPalette = () => import('./palette.tsx');
const Palette = late(loadPalette);
const Help = late(() => import('./help.tsx'));

/** Everything around a screen. */
export function Shell() {
  usePlaces();
  useGlobalKeys();
  const [path] = useLocation();
  const hasFollowed = useStore(followed, (ids) => ids.length > 0);
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <div className="shell">
        <Rail />
        <TopBar />
        <main id="main" tabIndex={-1}>
          <ProductBar />
          <Breakable place={path}>
            <Suspense fallback={<Skeleton />}>
              <Switch>
                {ROUTES.map(({ path, Screen, given, isOne }) => (
                  <Route key={path} path={path}>
                    {/* Another job is another page, with a state of its own. */}
                    {(params) => (
                      <Screen
                        key={isOne ? path : JSON.stringify(params)}
                        params={params as Record<string, string>}
                        {...given}
                      />
                    )}
                  </Route>
                ))}
                <Route>
                  <NotFound />
                </Route>
              </Switch>
            </Suspense>
          </Breakable>
        </main>
        <TabBar />
      </div>
      <Toasts />
      {hasFollowed && (
        <Breakable place={path}>
          <Suspense fallback={null}>
            <MyActions />
          </Suspense>
        </Breakable>
      )}
      <Overlay />
    </>
  );
}

function Overlay() {
  const open = useStore(overlay);
  if (open === null) return null;
  const Shown = open === 'help' ? Help : Palette;
  return (
    <Breakable place={open}>
      <Shown onClose={closeOverlay} />
    </Breakable>
  );
}

function useGlobalKeys(): void {
  const [, navigate] = useLocation();
  useLayoutEffect(listenForKeys, []);
  useEffect(() => {
    // The palette must be there within a frame, so its script is loaded as soon as the page is read.
    void afterFirstRead(loadPalette);
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      openPalette();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  useCommands([
    { key: '?', label: 'Keys of this screen', run: () => overlay.set('help'), isOnlyKey: true },
    { key: '.', label: 'Pause or resume updates', icon: 'paused', run: togglePause },
    { label: 'Replay dead letters', icon: 'undo', run: () => navigate('/dead'), mutation: 'replayDeadLetters' },
    { label: 'Why do jobs wait?', icon: 'jobs', run: () => navigate('/jobs?q=state:due') },
    { label: 'Dark theme', icon: 'theme', run: () => setPreference({ theme: 'dark' }) },
    { label: 'Sign out', icon: 'user', run: signOut },
    ...[...MAIN, ...SERVICE].map(({ path, label, key }) => ({
      key: `g ${key}`,
      label: `Go to ${label}`,
      run: () => navigate(path),
      isOnlyKey: true,
    })),
  ]);
}
