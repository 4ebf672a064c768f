import { type JobStatus, type WaitReason, type Word, wordOfJob } from '../model/words.ts';
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

interface JobWithState {
  status: JobStatus;
  deadReason: string | null;
  waiting: { reason: WaitReason } | null;
}

export function JobStatusWord({ job }: { job: JobWithState }) {
  return <Status word={wordOfJob(job)} />;
}
