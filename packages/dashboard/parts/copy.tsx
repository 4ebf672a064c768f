import { lowerFirst } from '../../query/words/format.ts';
import { Icon } from './icon.tsx';
import { toast, toastFailure } from './toast.tsx';

/** Copies text exactly as it is, and says so. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast({ text: `${what} copied` });
  } catch {
    // Browsers forbid it on pages without https.
    toastFailure(`${what} not copied: the browser does not allow it here.`);
  }
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <button
      type="button"
      className="btn quiet icon tiny"
      aria-label={`Copy the ${lowerFirst(what)}`}
      onClick={() => void copy(text, what)}
    >
      <Icon name="copy" />
    </button>
  );
}
