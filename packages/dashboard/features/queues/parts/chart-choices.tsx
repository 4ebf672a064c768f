import { Link, useLocation, useSearchParams } from 'wouter-preact';
import { toSearch } from '../../../../query/filter/search.ts';
import { CompareChoice } from '../../../parts/compare-choice.tsx';
import { SPANS, type Span, spanOf } from '../model/timeline.ts';

/** The span of the charts, as `?window=` says it. */
export function useSpan(): Span {
  const [params] = useSearchParams();
  return spanOf(params.get('window'));
}

/** Chooses how much time the charts show, and which earlier time besides. Both are in the URL. */
export function ChartChoices() {
  const [path] = useLocation();
  const [params] = useSearchParams();
  const span = useSpan();
  return (
    <>
      <CompareChoice />
      <nav className="seg" aria-label="Span of the charts">
        {SPANS.map(({ id, label }, index) => (
          <Link
            key={id}
            // A span that is chosen in a chart may not be in the next one.
            href={`${path}${toSearch({ ...Object.fromEntries(params), window: index === 0 ? null : id, from: null, to: null })}`}
            aria-current={id === span.id ? 'true' : undefined}
            replace
          >
            {label}
          </Link>
        ))}
      </nav>
    </>
  );
}
