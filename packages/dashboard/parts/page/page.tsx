import { Fragment, type ReactNode, useEffect, useRef } from 'preact/compat';
import { Link, useLocation } from 'wouter-preact';
import type { IconName, Signal } from '../../../query/words/words.ts';
import { firstScreenIsThere } from '../../api/first-read.ts';
import { arrivedBackwards } from '../../base/place.ts';
import { Icon } from '../icon.tsx';

export interface Crumb {
  label: ReactNode;
  /** Left out for the last crumb, which is this page. */
  to?: string;
}

/** The tab's title changes at most so often, as screen readers and tab strips notice each change. */
const TITLE_MS = 10_000;

/**
 * A screen: crumbs left, actions right, then sign, h1 and one or two lines. The h1 is a sentence that answers the
 * screen's question. On arrival it has the focus; after "back", the link that was followed has it.
 */
export function Page({
  title,
  crumbs,
  sign,
  h1,
  lead,
  actions,
  children,
}: {
  /** For the tab, without the product's name. */
  title: string;
  crumbs: readonly Crumb[];
  sign?: { icon: IconName; signal: Signal };
  h1: ReactNode;
  lead?: ReactNode;
  /** At most four buttons, at most one of them primary. */
  actions?: ReactNode;
  children?: ReactNode;
}) {
  const [path] = useLocation();
  const heading = useRef<HTMLHeadingElement>(null);
  const arrivedAt = useRef<string | null>(null);
  useEffect(() => {
    if (arrivedAt.current === path) return;
    arrivedAt.current = path;
    // A list that is walked by arrow keys leads to another page at each key.
    const isWalked = document.activeElement instanceof HTMLSelectElement;
    if (!isWalked && !arrivedBackwards()) heading.current?.focus({ preventScroll: true });
  }, [path]);
  useEffect(firstScreenIsThere, []);
  useTitle(title, path);
  return (
    <div className="wide">
      <header className="head">
        <nav className="crumbs" aria-label="Breadcrumb">
          {crumbs.map(({ label, to }, index) => (
            <Fragment key={index}>
              {index > 0 && <Icon name="right" />}
              {to === undefined ? <b>{label}</b> : <Link href={to}>{label}</Link>}
            </Fragment>
          ))}
        </nav>
        <div className="actions">{actions}</div>
        <div className={sign === undefined ? 'answer plain' : 'answer'}>
          {sign !== undefined && (
            <span className={`sign ${sign.signal}`}>
              <Icon name={sign.icon} />
            </span>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {h1}
          </h1>
          {lead !== undefined && <p>{lead}</p>}
        </div>
      </header>
      {children}
    </div>
  );
}

let titleSetAt = Number.NEGATIVE_INFINITY;
let titled = '';

function useTitle(title: string, path: string): void {
  useEffect(() => {
    const text = `${title} · Jobferry`;
    // A countdown changes only digits and units; everything else is news.
    const meaning = `${path} ${text.replace(/[\d.,:]|(?<=\d.)(?:d|h|min|s)\b/g, '')}`;
    const set = () => {
      titleSetAt = performance.now();
      titled = meaning;
      document.title = text;
    };
    const wait = meaning === titled ? titleSetAt + TITLE_MS - performance.now() : 0;
    if (wait <= 0) {
      set();
      return;
    }
    const timer = setTimeout(set, wait);
    return () => clearTimeout(timer);
  }, [title, path]);
}
