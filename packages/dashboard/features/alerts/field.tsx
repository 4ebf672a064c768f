import type { ReactNode } from 'preact/compat';
import { asSentence } from '../../../query/words/format.ts';
import { useUniqueId } from '../../base/use-unique-id.ts';

/** A field of the dialog, with its label and its problem, which the server begins with a small letter. */
export function Field({
  label,
  problem,
  children,
}: {
  label: string;
  problem?: string | undefined;
  children: (id: string) => ReactNode;
}) {
  const id = useUniqueId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {problem !== undefined && (
        <small className="bad" role="alert">
          {asSentence(problem)}
        </small>
      )}
    </div>
  );
}
