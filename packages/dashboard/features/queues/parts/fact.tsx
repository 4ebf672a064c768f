import type { ReactNode } from 'preact/compat';

/** A figure with its name above and what explains it below, as a part of a list of terms. */
export function Fact({ label, children, sub }: { label: string; children: ReactNode; sub: ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
      <dd className="sub">{sub}</dd>
    </div>
  );
}
