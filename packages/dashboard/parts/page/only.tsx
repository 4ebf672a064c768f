import type { ReactNode } from 'preact/compat';
import { hasRole, type Role, refusal } from '../../../query/words/rights.ts';
import { useRights } from '../../api/rights.ts';
import { Skeleton } from '../states.tsx';
import { type Crumb, Page } from './page.tsx';

interface Guarded {
  needs: Role;
  /** The purpose of the page, after "Only an admin may". */
  what: string;
  title: string;
  crumbs: readonly Crumb[];
  /** The way on for people who may not use the page. */
  lead?: ReactNode;
  /** Above the content of the page, such as tabs. */
  top?: ReactNode;
  children: ReactNode;
}

/** A page that some people may not use, and reach by its address: it says who may. */
export function Only({ needs, what, title, crumbs, lead, top, children }: Guarded) {
  const rights = useRights();
  if (hasRole(rights, needs)) return children;
  return (
    <Page
      title={title}
      crumbs={crumbs}
      {...(rights !== null && { sign: { icon: 'key', signal: 'idle' } as const, lead })}
      h1={rights === null ? title : refusal(rights, needs, what)}
    >
      {top}
      {rights === null && <Skeleton />}
    </Page>
  );
}
