import { Link, useLocation, useSearchParams } from 'wouter';
import { toSearch } from '../../../filter/search.ts';
import { SPANS, type Span, spanOf } from '../model/timeline.ts';

/** The span of the sparklines, as `?window=` says it. */
export function useSpan(): Span {
  const [params] = useSearchParams();
  return spanOf(params.get('window'));
}

export function SpanChoice({ span }: { span: Span }) {
  const [path] = useLocation();
  const [params] = useSearchParams();
  return (
    <nav className="seg" aria-label="Span of the charts">
      {SPANS.map(({ id, label }, index) => (
        <Link
          key={id}
          href={`${path}${toSearch({ ...Object.fromEntries(params), window: index === 0 ? null : id })}`}
          aria-current={id === span.id ? 'true' : undefined}
          replace
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
