import type { ReactNode } from 'preact/compat';
import { Link } from 'wouter-preact';
import { Page } from '../../../parts/page/page.tsx';

/** The page of a comparison: what of the job is compared, and the sentence about it. */
export function Frame({
  id,
  h1,
  tab,
  otherId = '',
  children,
}: {
  id: string;
  h1: string;
  tab: 'answers' | 'payloads';
  /** The job with whose payload that of this one is compared first. */
  otherId?: string | undefined;
  children: ReactNode;
}) {
  const path = `/jobs/${id}/compare`;
  return (
    <Page
      title={h1}
      crumbs={[
        { label: 'Jobs', to: '/jobs' },
        { label: <span className="mono">{id}</span>, to: `/jobs/${id}` },
        { label: 'Compare' },
      ]}
      h1={h1}
    >
      <div className="toolbar choices">
        <nav className="seg" aria-label="What to compare">
          <Link href={path} aria-current={tab === 'answers' ? 'page' : undefined}>
            Answers
          </Link>
          <Link href={`${path}?payload=${otherId}`} aria-current={tab === 'payloads' ? 'page' : undefined}>
            Payloads
          </Link>
        </nav>
      </div>
      {children}
    </Page>
  );
}
