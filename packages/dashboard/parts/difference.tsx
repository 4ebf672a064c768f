import type { ReactNode } from 'preact/compat';

/** A setting before and after, as a part of a list of terms. */
export function Difference({
  label,
  before,
  after,
  note,
}: {
  label: string;
  before: ReactNode;
  after: ReactNode;
  note?: string;
}) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {before !== null && <del>{before}</del>}
        {before !== null && after !== null && <span aria-hidden="true"> → </span>}
        {after !== null && <ins>{after}</ins>}
      </dd>
      {note !== undefined && <dd className="q">{note}</dd>}
    </div>
  );
}
