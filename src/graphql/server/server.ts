import { assertRange } from '../../domain/check-job-filter.ts';
import { heldBy, OLD_SNAPSHOT, type SnapshotHolder } from '../../domain/doctor-snapshots.ts';
import { RELEASES_KEPT } from '../../domain/release.ts';
import type { HeldSnapshots, ServiceLags as LagsShape, ReleaseRun, ServerFacts } from '../../services/server/facts.ts';
import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { range, TimeRangeInput } from '../filter-input.ts';
import { PRICE } from '../prices.ts';

const ServiceLags = builder.objectRef<LagsShape>('ServiceLags').implement({
  description: 'Lag of the background work of the service, over all accounts. None of it delays deliveries.',
  fields: (t) => ({
    searchSeconds: t.exposeFloat('searchSeconds', {
      nullable: true,
      description:
        'Age of the oldest job whose payload is not yet indexed, in seconds; null if all are. Searches find such jobs, more slowly.',
    }),
    statisticsSeconds: t.exposeFloat('statisticsSeconds', {
      description:
        'Time by which the sums for statistics are behind, in seconds. Statistics contain the missing attempts nevertheless, but are slower.',
    }),
    wakeUpSeconds: t.exposeFloat('wakeUpSeconds', {
      nullable: true,
      description: 'Time since which the oldest wake-up has been due, in seconds; null if none is due.',
    }),
  }),
});

const SnapshotHolderKind = enumOf(
  'SnapshotHolderKind',
  'Kind of a holder of dead rows. `SESSION`: a session with an open transaction. `PREPARED`: a prepared transaction. `STANDBY`: the sender to a standby with `hot_standby_feedback`. `SLOT`: a replication slot.',
  ['session', 'prepared', 'standby', 'slot'],
);

const SnapshotHolderType = builder.objectRef<SnapshotHolder>('SnapshotHolder').implement({
  description: 'A session, prepared transaction, standby or replication slot that can keep dead rows in the database.',
  fields: (t) => ({
    kind: t.field({ type: SnapshotHolderKind, description: 'Kind of the holder.', resolve: ({ kind }) => kind }),
    name: t.exposeString('name', {
      description: 'Process id in the database, id of the prepared transaction, or name of the slot.',
    }),
    user: t.exposeString('user', { description: 'Database role; empty for a slot.' }),
    program: t.exposeString('program', { description: 'Name of the application; empty if it has none.' }),
    state: t.exposeString('state', { description: 'State of a session, such as `idle in transaction`; else empty.' }),
    seconds: t.exposeFloat('seconds', {
      nullable: true,
      description: 'Age of the transaction in seconds; null for a standby and a slot.',
    }),
    transactions: t.exposeInt('ids', {
      nullable: true,
      description:
        'Number of transactions since the oldest row that the holder keeps; null for a session that keeps no dead row.',
    }),
    message: t.string({
      description: 'The holder as a sentence. Its wording may change.',
      resolve: (holder) => heldBy(holder),
    }),
  }),
});

const HeldSnapshotsType = builder.objectRef<HeldSnapshots>('HeldSnapshots').implement({
  description:
    'Old transactions, standbys and replication slots that keep dead rows in the database. Tables grow meanwhile, and lists and statistics become slower.',
  fields: (t) => ({
    holders: t.field({
      type: [SnapshotHolderType],
      description: `Holders that are older than a minute, or than ${OLD_SNAPSHOT.reported.ids} transactions for a standby and a slot; oldest first, at most 10.`,
      resolve: ({ holders }) => holders,
    }),
    seesAll: t.exposeBoolean('seesAll', {
      description:
        'Whether sessions of other database roles can be seen. If false, there may be more holders: `doctor` has the grant that is missing.',
    }),
  }),
});

const Server = builder.objectRef<ServerFacts>('Server').implement({
  description: 'The Jobferry service.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Version of Jobferry.' }),
    environment: t.exposeString('environment', { description: 'Name of the environment, such as `production`.' }),
    now: t.expose('now', {
      type: 'DateTime',
      description: 'Time of the database’s clock, which decides when jobs are due.',
    }),
    clockOffsetSeconds: t.exposeFloat('clockOffsetSeconds', {
      description:
        'Lead of the database’s clock over the clock of the process that answers, in seconds; negative if it is behind. Exact to the duration of a query. Due times follow the database’s clock only.',
    }),
    retentionSeconds: t.exposeFloat('retentionSeconds', {
      description: 'Time for which a job is kept after its publish, in seconds.',
    }),
    lifetimeSeconds: t.exposeFloat('lifetimeSeconds', {
      description: 'Time from a job’s first `scheduledFor` in which it can be delivered, in seconds.',
    }),
    lags: t.field({
      type: ServiceLags,
      nullable: true,
      complexity: PRICE.usage,
      description:
        'Lag of the background work of the service. Only the operator’s account receives it: it shows the load of all accounts. Null for other accounts.',
      resolve: (_server, _args, { services, account }) => services.server.lags(account),
    }),
    snapshots: t.field({
      type: HeldSnapshotsType,
      nullable: true,
      complexity: PRICE.usage,
      description:
        'Old transactions, standbys and replication slots that keep dead rows in the database. Only the operator’s account receives it: it names roles and applications. Null for other accounts.',
      resolve: (_server, _args, { services, account }) => services.server.snapshots(account),
    }),
    webhookTimeoutSeconds: t.exposeFloat('webhookTimeoutSeconds', {
      description: 'Time in which a webhook must answer, in seconds.',
    }),
    templates: t.exposeStringList('templates', { description: 'Names of the templates for new queues.' }),
  }),
});

const ReleaseRunType = builder.objectRef<ReleaseRun>('ReleaseRun').implement({
  description: 'A release of Jobferry that began to run, after another one or as the first.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Version of the release.' }),
    before: t.exposeString('before', {
      nullable: true,
      description: 'Version of the release that ran before; null if it is not known, as in a new database.',
    }),
    at: t.expose('at', { type: 'DateTime', description: 'Time at which the first process of the release started.' }),
  }),
});

builder.queryFields((t) => ({
  releases: t.field({
    type: [ReleaseRunType],
    complexity: { field: PRICE.releases, multiplier: 1 },
    description: `Releases of Jobferry that began to run, newest first; the last ${RELEASES_KEPT} are kept. A release is there once for each time that it took over from another one, also without a migration, and also when an earlier release is started again.`,
    args: {
      at: t.arg({ type: TimeRangeInput, description: 'Releases that began in this range of time; all by default.' }),
    },
    resolve: (_root, { at }, { services }) => {
      assertRange('at', range(at));
      return services.server.releases({ ...at });
    },
  }),
  server: t.field({
    type: Server,
    description: 'The Jobferry service: version, clock and time limits.',
    resolve: (_root, _args, { loaders }) => loaders.server(),
  }),
}));
