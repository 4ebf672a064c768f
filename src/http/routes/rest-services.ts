import type { Services } from '../../services/services.ts';

/** The use cases that REST calls; tests put their own in place of some. */
export interface RestServices {
  jobs: Pick<Services['jobs'], 'publish' | 'get' | 'list' | 'ack' | 'nack' | 'defer' | 'extendAck'>;
  queues: Pick<Services['queues'], 'list' | 'create' | 'get' | 'update' | 'delete' | 'addressWarning'>;
  deadLetters: Pick<Services['deadLetters'], 'list' | 'replay' | 'replayMany'>;
  reportUrls: Services['reportUrls'];
  accounts: Pick<Services['accounts'], 'authenticate' | 'authenticated' | 'knownAccount' | 'queueName'>;
}
