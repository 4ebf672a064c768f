import type { ApiPublished, ApiQueue, PublishBody } from '../../test/support/api.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import type { Build } from './build.ts';
import { classifyDelivery, isOneOf, Webhook } from './webhook.ts';

interface Expected {
  queue: QueueName;
  /** Status, and the reason of a dead job. */
  end: string;
  /** Undefined for the jobs of a bulk replay. */
  payload?: object | undefined;
}

const COMPLETED = 'completed';
const DIED = 'dead attempts_exhausted';
const CANCELLED = 'dead cancelled';

const SETTINGS = {
  plain: { backoffDelay: 0.5 },
  keyed: {},
  encrypted: {},
  switched: {},
  acked: { mode: 'ack', backoffDelay: 0.5 },
  dying: { maxAttempts: 1 },
  bulk: { maxAttempts: 1 },
  cancelled: {},
  later: {},
} as const;
type QueueName = keyof typeof SETTINGS;

const ENCRYPT = `mutation ($id: ID!, $enabled: Boolean!) { result: setPayloadEncryption(queueId: $id, enabled: $enabled) {
  ... on QueuePayload { queue { payloadsEncrypted } } ... on Error { message } } }`;
const REPLAY = `mutation ($id: ID!) { result: replayDeadLetters(queueId: $id, all: true, ratePerSecond: 5) {
  ... on BulkActionPayload { matched action { id } } ... on Error { message } } }`;
const CANCEL = `mutation ($id: ID!) { result: cancelJobs(filter: { queueIds: [$id] }) {
  ... on BulkActionPayload { matched action { id } } ... on Error { message } } }`;

const CANCEL_SOME = `mutation ($id: ID!, $ids: [ID!]) { result: cancelJobs(filter: { queueIds: [$id], ids: $ids }) {
  ... on BulkActionPayload { matched action { id } } ... on Error { message } } }`;
const RUN_SOME = `mutation ($id: ID!, $ids: [ID!]) { result: runJobsNow(filter: { queueIds: [$id], ids: $ids }) {
  ... on BulkActionPayload { matched action { id } } ... on Error { message } } }`;

/**
 * The steps of clients during an upgrade. Each publish and replay notes how its job has to end; `wrongJobs` compares.
 */
export class Load {
  readonly webhook: Webhook;
  readonly #queues = {} as Record<QueueName, ApiQueue>;
  readonly #expected = new Map<string, Expected>();
  /** Ids of the jobs by idempotency key. */
  readonly #keys = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #actions: { id: string; matched: number }[] = [];
  #nextKey = 0;
  #published = 0;

  /** Creates the queues through the given build. */
  static async open(databaseUrl: string, by: Build): Promise<Load> {
    const load = new Load(databaseUrl);
    const webhookUrl = await load.webhook.open();
    for (const [name, settings] of Object.entries(SETTINGS)) {
      load.#queues[name as QueueName] = await by.api.createQueue({ name, webhookUrl, concurrency: 20, ...settings });
    }
    await load.#setEncryption(by, 'encrypted', true);
    return load;
  }

  private constructor(databaseUrl: string) {
    this.webhook = new Webhook(databaseUrl);
  }

  get expectedJobs(): number {
    return this.#expected.size;
  }

  /** Publishes a job of each kind. Clients of two builds use the same new key at about the same time. */
  async publishRound(by: Build): Promise<void> {
    const key = this.#nextKey;
    await Promise.all([
      this.#publish(by, 'plain', COMPLETED),
      this.#publish(by, 'encrypted', COMPLETED),
      this.#publish(by, 'acked', COMPLETED),
      this.#publish(by, 'dying', DIED),
      this.#publishKey(by, key),
    ]);
    // A key that was used before, through this build or another one.
    await this.#publishKey(by, Math.floor(key / 2));
    this.#nextKey = Math.max(this.#nextKey, key + 1);
  }

  /**
   * Reports on a job that awaits it; most get an ack, some a nack at first.
   * @returns false if no job awaits a report
   */
  async reportOne(by: Build): Promise<boolean> {
    const waiting = await this.webhook.query<{ id: string; attempts: number }>(
      `select id, attempts from job where queue_id = $1 and status = 'awaiting_ack' order by id`,
      [this.#queues.acked.id],
    );
    const job = this.#take(waiting, ({ id, attempts }) => `${id} ${attempts}`);
    if (job === null) return false;
    const verb = job.attempts === 1 && isOneOf(4, job.id) ? 'nack' : 'ack';
    const { status, text } = await by.api.call('POST', `/v1/jobs/${job.id}/${verb}`, { attempt: job.attempts });
    if (status !== 200) throw new Error(`${verb} of ${job.id}: ${status} ${text}`);
    return true;
  }

  /**
   * Requests the replay of one dead letter from all the given builds at once; exactly one may create a job.
   * @returns false if there is no dead letter
   */
  async replayOne(by: Build[]): Promise<boolean> {
    const letter = this.#take(await this.#openLetters(), ({ id }) => id);
    if (letter === null) return false;
    const path = `/v1/queues/${this.#queues.dying.id}/dlq/${letter.id}/replay`;
    const answers = await Promise.all(by.map(({ api }) => api.call<ApiPublished>('POST', path)));
    const [created, ...others] = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 409).length;
    if (created === undefined || others.length > 0 || refused !== by.length - 1) {
      throw new Error(`replay of ${letter.id}: ${answers.map(({ status, text }) => `${status} ${text}`)}`);
    }
    const payload = this.#expected.get(letter.job_id)?.payload;
    this.#expected.set(created.body.id, { queue: 'dying', end: COMPLETED, payload });
    return true;
  }

  /**
   * Turns encryption of a queue on and off, each time through another build, and publishes through all. So each build
   * sends plain text to a queue that encrypts by now, and encrypted payloads to a queue that no longer does.
   */
  async switchEncryption(builds: Build[]): Promise<void> {
    for (const [turn, enabled] of [true, false, true, false].entries()) {
      await this.#setEncryption(builds[turn % builds.length] as Build, 'switched', enabled);
      for (const build of builds) {
        const id = await this.#publish(build, 'switched', COMPLETED);
        const [row] = await this.webhook.query<{ payload: string }>('select payload from job where id = $1', [id]);
        const isEncrypted = row?.payload.startsWith('enc:v1:');
        if (isEncrypted !== enabled) throw new Error(`encryption is ${enabled}, job ${id} has ${row?.payload}`);
      }
    }
  }

  /**
   * Publishes jobs that die, waits for their dead letters, and starts a bulk replay of five a second.
   * @returns its id
   */
  async startBulkReplay(by: Build, jobs: number): Promise<string> {
    for (let n = 0; n < jobs; n += 1) await this.#publish(by, 'bulk', DIED);
    const letters = () => this.webhook.count('dead_letter where queue_id = $1', [this.#queues.bulk.id]);
    await waitFor(async () => (await letters()) === jobs, { timeoutMs: 120_000, message: `${jobs} dead letters` });
    return this.#startAction(by, REPLAY, 'bulk');
  }

  /** Publishes jobs through all builds that are due much later, and starts a bulk action that cancels them. */
  async startBulkCancel(by: Build, publishers: Build[], jobs: number): Promise<void> {
    for (const build of publishers) {
      for (let n = 0; n < jobs; n += 1) await this.#publish(build, 'cancelled', CANCELLED, { delay: 3600 });
    }
    await this.#startAction(by, CANCEL, 'cancelled');
  }

  /**
   * Publishes jobs that are due much later, and starts bulk actions that cancel some of them and run the others now.
   * Builds before revisions of bulk actions know neither `ids` nor `runJobsNow`, and would cancel all of them.
   */
  async startLaterActions(by: Build, jobs: number): Promise<void> {
    const publish = (end: string) =>
      Promise.all(Array.from({ length: jobs }, () => this.#publish(by, 'later', end, { delay: 3600 })));
    await this.#startAction(by, CANCEL_SOME, 'later', await publish(CANCELLED));
    await this.#startAction(by, RUN_SOME, 'later', await publish(COMPLETED));
  }

  /** Number of jobs, dead letters to replay and bulk actions that have not ended. */
  async open(): Promise<number> {
    const jobs = await this.webhook.count(`job where status not in ('completed', 'dead')`);
    const running = await this.webhook.count(`bulk_action where status = 'running'`);
    return jobs + running + (await this.#openLetters()).length;
  }

  /** Jobs that are missing, that no client published, that are in another state than expected, or delivered wrongly. */
  async wrongJobs(): Promise<object[]> {
    const rows = await this.webhook.query<{ id: string; end: string; replay_of: string | null; queue_id: string }>(
      `select id, concat_ws(' ', status, dead_reason) as end, replay_of, queue_id from job`,
    );
    const replayed = new Set<string>();
    for (const { id, queue_id, replay_of } of rows) {
      // A second replay of the same dead letter stays unexpected.
      if (queue_id !== this.#queues.bulk.id || replay_of === null || replayed.has(replay_of)) continue;
      replayed.add(replay_of);
      this.#expected.set(id, { queue: 'bulk', end: COMPLETED });
    }
    const ends = new Map(rows.map(({ id, end }) => [id, end]));
    const received = this.webhook.received();
    const wrong: object[] = rows.filter(({ id }) => !this.#expected.has(id));
    for (const [id, job] of this.#expected) {
      const end = ends.get(id) ?? 'missing';
      const delivery = classifyDelivery(received.get(id), job.payload, this.#queues[job.queue].signingSecret);
      const wanted = job.end === CANCELLED ? 'none' : 'right';
      if (end !== job.end || delivery !== wanted) wrong.push({ id, ...job, found: end, delivery });
    }
    return wrong;
  }

  /** Bulk actions that did not complete, or did less than they matched. */
  async wrongActions(): Promise<object[]> {
    const rows = await this.webhook.query<{ id: string; status: string; succeeded: number }>(
      'select id, status, succeeded, skipped, error from bulk_action',
    );
    return this.#actions.flatMap(({ id, matched }) => {
      const row = rows.find((one) => one.id === id);
      return row?.status === 'completed' && row.succeeded === matched ? [] : [{ matched, ...row }];
    });
  }

  async #publish(by: Build, queue: QueueName, end: string, changes: Partial<PublishBody> = {}): Promise<string> {
    this.#published += 1;
    const payload = { n: this.#published, text: `payload ${this.#published}` };
    const body = { payload, ...changes };
    const { id } = await by.api.publish(queue, body);
    this.#expected.set(id, { queue, end, payload: body.payload as object });
    return id;
  }

  async #publishKey(by: Build, n: number): Promise<void> {
    const idempotencyKey = `key-${n}`;
    const id = await this.#publish(by, 'keyed', COMPLETED, { idempotencyKey, payload: { n } });
    const before = this.#keys.get(idempotencyKey) ?? id;
    if (id !== before) throw new Error(`two jobs have the key ${idempotencyKey}: ${before} and ${id}`);
    this.#keys.set(idempotencyKey, id);
  }

  #openLetters() {
    return this.webhook.query<{ id: string; job_id: string }>(
      'select id, job_id from dead_letter where queue_id = $1 and replayed_at is null order by id',
      [this.#queues.dying.id],
    );
  }

  /** The first that no client has taken, so that clients of two builds do not take the same one. */
  #take<Row>(rows: Row[], nameOf: (row: Row) => string): Row | null {
    const row = rows.find((one) => !this.#taken.has(nameOf(one)));
    if (row === undefined) return null;
    this.#taken.add(nameOf(row));
    return row;
  }

  async #setEncryption(by: Build, queue: QueueName, enabled: boolean): Promise<void> {
    const { result } = await by.graphql.query(ENCRYPT, { id: this.#queues[queue].id, enabled });
    if (result.queue?.payloadsEncrypted !== enabled) throw new Error(`no encryption: ${JSON.stringify(result)}`);
  }

  async #startAction(by: Build, mutation: string, queue: QueueName, ids?: string[]): Promise<string> {
    const { result } = await by.graphql.query(mutation, { id: this.#queues[queue].id, ...(ids && { ids }) });
    if (result.action == null) throw new Error(`no bulk action was started: ${JSON.stringify(result)}`);
    this.#actions.push({ id: result.action.id, matched: result.matched });
    return result.action.id;
  }
}
