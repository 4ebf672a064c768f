import { type Word, wordOfJob } from '../../query/words/words.ts';
import { Icon } from './icon.tsx';

/** Icon, word, colour, in this order. */
export function Status({ word }: { word: Word }) {
  return (
    <span className={`st ${word.signal}`}>
      <Icon name={word.icon} />
      {word.word}
    </span>
  );
}

export function JobStatusWord({ job }: { job: Parameters<typeof wordOfJob>[0] }) {
  return <Status word={wordOfJob(job)} />;
}
