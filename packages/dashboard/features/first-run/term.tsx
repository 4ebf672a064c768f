import { CopyButton } from '../../parts/copy.tsx';

/** A command to copy into a terminal. */
export function Term({ text, what, isSecret = false }: { text: string; what: string; isSecret?: boolean }) {
  return (
    <div className="term">
      <pre className={isSecret ? 'secret' : undefined}>{text}</pre>
      <CopyButton text={text} what={what} />
    </div>
  );
}
