import type { DeadReason as Reason, JobStatus as Status } from '../../domain/job.ts';
import { JOB_DIMENSIONS, type JobDimension, type JobStateName as State } from '../../domain/job-filter.ts';
import { builder } from '../builder.ts';
import { DeadReason, enumOf, JobStateName, JobStatus } from '../enums.ts';
import { PRICE } from '../prices.ts';
import { Queue } from '../refs.ts';
import { JobFilterInput, jobFilterOf } from './filter.ts';

const JobDimensionName = enumOf(
  'JobDimension',
  'Property by which jobs are counted. `PAYLOAD`: the value at a path of the payload.',
  JOB_DIMENSIONS,
);

interface JobGroupShape {
  queueId: string | null;
  status: Status | null;
  state: State | null;
  deadReason: Reason | null;
  value: string | null;
  count: number;
}

const JobGroup = builder.objectRef<JobGroupShape>('JobGroup').implement({
  description: 'Number of jobs with equal values of the requested dimensions. Other dimensions are null.',
  fields: (t) => ({
    queue: t.field({
      type: Queue,
      nullable: true,
      description: 'The queue of the jobs.',
      resolve: ({ queueId }, _args, { loaders }) => (queueId === null ? null : loaders.queue.load(queueId)),
    }),
    status: t.field({
      type: JobStatus,
      nullable: true,
      description: 'The status of the jobs.',
      resolve: ({ status }) => status,
    }),
    state: t.field({
      type: JobStateName,
      nullable: true,
      description: 'The state of the jobs.',
      resolve: ({ state }) => state,
    }),
    deadReason: t.field({
      type: DeadReason,
      nullable: true,
      description: 'The reason why the jobs died; null also for jobs that are not dead.',
      resolve: ({ deadReason }) => deadReason,
    }),
    value: t.exposeString('value', {
      nullable: true,
      description:
        'The value at the path as JSON text; null also for payloads without a text, number, boolean or null of at most 256 characters there.',
    }),
    count: t.exposeInt('count', { description: 'Number of jobs in the group.' }),
  }),
});

interface JobGroupsShape {
  groups: JobGroupShape[];
  first: number;
  hint: () => Promise<string | null>;
}

const JobGroups = builder.objectRef<JobGroupsShape>('JobGroups').implement({
  description: 'Jobs counted by one or more dimensions.',
  fields: (t) => ({
    groups: t.field({
      type: [JobGroup],
      description: 'The largest groups, largest first.',
      resolve: ({ groups, first }) => groups.slice(0, first),
    }),
    groupCount: t.int({
      description: 'Number of all groups.',
      resolve: ({ groups }) => groups.length,
    }),
    jobCount: t.int({
      description: 'Number of jobs in all groups.',
      resolve: ({ groups }) => groups.reduce((total, { count }) => total + count, 0),
    }),
    hint: t.string({
      complexity: PRICE.payloadSuggestions,
      nullable: true,
      description:
        'Why no job is counted by a value: recent payloads do not have the path, or what the payload condition of the filter requires. Null if a group has a value, if jobs were found and no path was given, or if there is no such reason.',
      resolve: ({ hint }) => hint(),
    }),
  }),
});

/** Maximum number of groups in a response. */
const MAX_FIRST = 1000;

builder.queryFields((t) => ({
  jobGroups: t.field({
    type: JobGroups,
    complexity: ({ first }) => ({
      field: PRICE.jobTimeline,
      multiplier: Math.min(Math.max(first ?? 20, 1), MAX_FIRST),
    }),
    description:
      'Matching jobs of all live queues, counted by queue, status, state, reason of death or payload value. Counts by queue, status and state read only an index if the filter has no conditions besides queue and creation time. At most 20 000 groups; jobs whose payload cannot be searched are not counted by payload.',
    args: {
      by: t.arg({
        type: [JobDimensionName],
        required: true,
        description: 'The dimensions; jobs are in the same group if all of them are equal.',
      }),
      path: t.arg.string({ description: 'Path of the dimension `PAYLOAD`, such as `customer.id`; without `*`.' }),
      filter: t.arg({ type: JobFilterInput, description: 'The jobs to count; all by default.' }),
      first: t.arg.int({
        defaultValue: 20,
        required: true,
        description: 'Maximum number of groups; at most 1000; a larger number counts as 1000.',
      }),
    },
    resolve: async (_root, { by, path, filter, first }, context) => {
      const { services, account } = context;
      const dimensions: readonly JobDimension[] = by;
      const jobs = await jobFilterOf(context, filter);
      const groups = await services.jobs.groups(account, jobs, dimensions, path ?? null);
      const isExplained = path == null ? groups.length > 0 : groups.some(({ value }) => value !== null);
      return {
        groups,
        first: Math.min(Math.max(first, 0), MAX_FIRST),
        hint: async () => {
          if (isExplained) return null;
          const byFilter = groups.length === 0 ? await services.jobs.payloadHint(account, jobs) : null;
          if (byFilter !== null || path == null) return byFilter;
          const payload = { kind: 'test', path, op: 'EXISTS', value: null } as const;
          return services.jobs.payloadHint(account, { ...jobs, payload });
        },
      };
    },
  }),
}));
