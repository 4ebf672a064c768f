import { Link, useLocation } from 'wouter-preact';
import { count, upperFirst } from '../../query/words/format.ts';
import { type ShellData, useShell } from '../api/server.ts';
import { openPalette, overlay } from '../base/overlay.ts';
import { preferences, setPreference } from '../base/preferences.ts';
import { useStore } from '../base/store.ts';
import { Icon, Mark } from '../parts/icon.tsx';
import { COMMAND_KEY } from '../parts/page/keys.ts';
import { preload } from '../routes.ts';
import { AccountMenu } from './account-menu.tsx';
import { LiveButton, LiveLabel } from './live-dot.tsx';
import { type Destination, isCurrent, MAIN, SERVICE } from './navigation.ts';

/** The rail at the left of wide windows. */
export function Rail() {
  const shell = useShell();
  return (
    <aside className="rail">
      <Brand />
      <button className="find" type="button" onClick={openPalette}>
        <Icon name="search" />
        <span>Find or do anything</span>
        <kbd>{COMMAND_KEY}K</kbd>
      </button>
      <Links label="Main" destinations={MAIN} shell={shell} />
      <Links label="Service" destinations={SERVICE} shell={shell} />
      <div className="foot">
        <LiveButton />
        <ThemeButton />
        <div className="who">
          <AccountMenu />
          <button type="button" aria-label="Keys of this screen" onClick={() => overlay.set('help')}>
            <kbd>?</kbd>
          </button>
        </div>
      </div>
    </aside>
  );
}

function Brand() {
  const environment = useShell()?.server.environment;
  return (
    <Link className="brand" href="/">
      <Mark />
      Jobferry
      {environment !== undefined && (
        <span className={`env ${environment}`} title={environment}>
          <span>{environment}</span>
        </span>
      )}
    </Link>
  );
}

function Links({
  label,
  destinations,
  shell,
}: {
  label: string;
  destinations: readonly Destination[];
  shell: ShellData | undefined;
}) {
  const [location] = useLocation();
  return (
    <nav className="nav" aria-label={label}>
      {destinations.map(({ path, label: text, icon }) => (
        <Link
          key={path}
          href={path}
          aria-current={isCurrent(path, location) ? 'page' : undefined}
          onPointerEnter={() => preload(path)}
        >
          <Icon name={icon} />
          {text}
          {shell !== undefined && <Count path={path} shell={shell} />}
        </Link>
      ))}
    </nav>
  );
}

/** Queues; dead letters that were not replayed; running actions; alerts that fire. */
function Count({ path, shell }: { path: string; shell: ShellData }) {
  if (path === '/queues' && shell.queues.totalCount > 0) {
    return <span className="count">{count(shell.queues.totalCount)}</span>;
  }
  if (path === '/dead' && shell.open.totalCount > 0) {
    return <span className="count bad">{count(shell.open.totalCount, shell.open.totalCountExact)}</span>;
  }
  if (path === '/actions' && shell.running.nodes.length > 0) {
    return <span className="count run">{shell.running.nodes.length}</span>;
  }
  if (path === '/alerts' && shell.firing.totalCount > 0) {
    return <span className="count bad">{count(shell.firing.totalCount, shell.firing.totalCountExact)}</span>;
  }
  return null;
}

const NEXT_THEME = { system: 'light', light: 'dark', dark: 'system' } as const;

function ThemeButton() {
  const theme = useStore(preferences, (all) => all.theme);
  return (
    <button type="button" onClick={() => setPreference({ theme: NEXT_THEME[theme] })}>
      <Icon name="theme" />
      Theme
      <span className="end q3">{upperFirst(theme)}</span>
    </button>
  );
}

/** The bar at the top of narrow windows. */
export function TopBar() {
  return (
    <header className="topbar">
      <Brand />
      <span className="end">
        <LiveLabel />
        <button className="btn quiet icon" type="button" aria-label="Find or do anything" onClick={openPalette}>
          <Icon name="search" />
        </button>
        <AccountMenu isIcon />
      </span>
    </header>
  );
}

/** The five tabs at the bottom of narrow windows. The last opens the palette, which leads everywhere. */
export function TabBar() {
  const [location] = useLocation();
  return (
    <nav className="tabbar" aria-label="Main, phone">
      {MAIN.flatMap(({ path, icon, short }) =>
        short === undefined ? (
          []
        ) : (
          <Link key={path} href={path} aria-current={isCurrent(path, location) ? 'page' : undefined}>
            <Icon name={icon} />
            {short}
          </Link>
        ),
      )}
      <button type="button" onClick={openPalette}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}
