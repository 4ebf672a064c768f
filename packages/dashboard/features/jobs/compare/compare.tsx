import { useQuery } from '@tanstack/preact-query';
import { useLocation, useSearchParams } from 'wouter-preact';
import { isJobId } from '../../../../query/words/job-id.ts';
import { query } from '../../../api/query.ts';
import { useCommands } from '../../../parts/page/keys.ts';
import { Failure, Skeleton } from '../../../parts/states.tsx';
import { CompareJobs } from '../operations/compare.ts';
import { Answers } from './answers.tsx';
import { Frame } from './frame.tsx';
import { Payloads } from './payloads.tsx';

/** Is there a difference between two attempts of a job, or between its payload and that of another job? */
export default function Compare({ params: { id = '' } }: { params: Record<string, string> }) {
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const otherId = params.get('payload');
  const hasOther = otherId !== null && isJobId(otherId);
  const result = useQuery(query(CompareJobs, { id, other: hasOther ? otherId : id, hasOther }));
  useCommands([{ key: 'Escape', label: 'Back to the job', run: () => navigate(`/jobs/${id}`), isOnlyKey: true }]);
  const job = result.data?.job;
  if (job == null) {
    return (
      <Frame id={id} h1={job === null ? 'There is no such job.' : 'Compare'} tab="answers">
        <Failure result={result} what="This job" />
        {result.isLoading && <Skeleton lines={5} />}
      </Frame>
    );
  }
  if (otherId === null) return <Answers job={job} chosen={params.get('attempts')} />;
  return <Payloads job={job} otherId={otherId} other={result.data?.other ?? null} />;
}
