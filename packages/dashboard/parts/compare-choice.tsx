import { Link, useLocation, useSearchParams } from 'wouter-preact';
import { toSearch } from '../../query/filter/search.ts';
import { useServer } from '../api/server.ts';
import { serverNow } from '../base/clock.ts';
import { comparisonOf, comparisonsOffered, missingOfGhost } from '../words/comparison.ts';

/** An earlier time is read so far ahead, so that it is read seldom. */
export const AHEAD_MS = 3_600_000;

/** The earlier time that the charts of the page compare with, as `?compare=` says it; null without one. */
export function useComparison() {
  const [params] = useSearchParams();
  return comparisonOf(params.get('compare'));
}

export function CompareChoice() {
  const [path] = useLocation();
  const kept = useServer()?.retentionSeconds ?? 0;
  const [params] = useSearchParams();
  const compare = useComparison()?.name ?? null;
  const offered = comparisonsOffered(kept, compare);
  if (offered.length === 0) return null;
  return (
    <nav className="seg" aria-label="Compare with">
      {offered.map(({ name, label }) => (
        <Link
          key={name}
          href={`${path}${toSearch({ ...Object.fromEntries(params), compare: name === compare ? null : name })}`}
          replace
          aria-current={name === compare ? 'true' : undefined}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

/** Why the lines of the earlier time are missing, or begin after the charts do. */
export function MissingThen({ from }: { from: number }) {
  const server = useServer();
  const comparison = useComparison();
  if (comparison === null || server === null) return null;
  const missing = missingOfGhost(from, comparison, { ...server, now: serverNow() });
  return missing === null ? null : <p className="small q">{missing}</p>;
}
