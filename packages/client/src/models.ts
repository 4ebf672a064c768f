import type { Routes } from './routes.ts';

// The build of the package replaces these types by interfaces with a description of every field.

type Queues = Routes['queues'];
type Jobs = Routes['jobs'];
type DeadLetters = Routes['deadLetters'];

export type Queue = Queues['get']['answers'][200];
export type CreatedQueue = Queues['create']['answers'][201];
export type QueueCreateInput = Queues['create']['body'];
export type QueueUpdateInput = NonNullable<Queues['update']['body']>;
export type Job = Jobs['get']['answers'][200];
export type JobPage = Jobs['list']['answers'][200];
export type HistoryEntry = Job['history'][number];
export type PublishedJob = Jobs['publish']['answers'][201];
export type PublishInput = Jobs['publish']['body'];
export type AckInput = NonNullable<Jobs['ack']['body']>;
export type NackInput = NonNullable<Jobs['nack']['body']>;
export type DeferInput = Jobs['defer']['body'];
export type DeadLetterPage = DeadLetters['list']['answers'][200];
export type DeadLetter = DeadLetterPage['jobs'][number];
export type BulkReplayInput = NonNullable<DeadLetters['replayMany']['body']>;
export type BulkReplayResult = DeadLetters['replayMany']['answers'][200];
export type ErrorMessage = Jobs['get']['answers'][404];
export type ErrorFields = Jobs['publish']['answers'][400];
