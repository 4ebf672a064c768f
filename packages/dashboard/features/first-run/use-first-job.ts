import { useQuery } from '@tanstack/preact-query';
import { useCallback } from 'preact/compat';
import type { ResultOf } from '../../../query/schema/graphql.ts';
import { useLiveObjects, useWatch } from '../../api/live/live.ts';
import { query, queryClient } from '../../api/query.ts';
import { FirstJob } from './operations.ts';

export type FirstJobNow = ResultOf<typeof FirstJob>['jobs']['nodes'][number];

/** The first job of a queue from the moment of its publish: undefined until there is one. */
export function useFirstJob(queueId: string) {
  const options = query(FirstJob, { queueId });
  const result = useQuery(options);
  const job = result.data?.jobs.nodes[0];
  // The jobs of a watched queue are watched too.
  useWatch({ queueIds: [queueId], jobIds: job === undefined ? [] : [job.id] });
  const listener = useCallback(
    (objects: object[]) => {
      const first = queryClient.getQueryData<ResultOf<typeof FirstJob>>(options.queryKey)?.jobs.nodes[0];
      const isNews = (object: object) => {
        const { id, queue } = object as { id?: string; queue?: { id?: string } };
        return first === undefined ? queue?.id === queueId : id === first.id;
      };
      // A live message has no attempts, so they are fetched whenever the first job has changed.
      if (objects.some(isNews)) void queryClient.invalidateQueries({ queryKey: options.queryKey });
    },
    [queueId],
  );
  useLiveObjects(listener);
  return { result, job };
}
