/**
 * Texts (`String` and `JSON`) of the schema that a client without the right to see payloads may read or send. A text
 * that is missing here is hidden or refused, and a test fails until it is added (docs/decisions/0029). Enums, numbers,
 * ids and times are never hidden.
 */
export const PLAIN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Account: ['name'],
  // Made of numbers, names and Jobferry's own words.
  Alert: ['cause', 'queueName'],
  AlertEmail: ['to'],
  AlertNotification: ['error'],
  AlertPagerDuty: ['routingKey'],
  AlertRule: ['problem', 'silencedBy', 'webhookUrl'],
  AlertWebhook: ['url'],
  ApiKey: ['createdBy', 'lastFour', 'name', 'prefix', 'queues'],
  AuditEntry: ['action', 'actor', 'targetName', 'targetType'],
  BulkAction: ['error', 'pausedBy', 'repeatedStep', 'requestedBy'],
  // The sentence is the one without texts of receivers.
  ClockEvent: ['message', 'queue'],
  ConflictError: ['message'],
  CreateAlertRulePayload: ['signingSecret'],
  CreateApiKeyPayload: ['key'],
  CreateQueuePayload: ['signingSecret'],
  // A hash of the reason, the status code and the error without numbers.
  DeadLetter: ['fingerprint'],
  Dismissal: ['dismissedBy', 'fingerprint'],
  ErrorGroup: ['fingerprint'],
  FieldError: ['field', 'messages'],
  ForbiddenError: ['message'],
  GoneError: ['message'],
  HealthWarning: ['message'],
  // The resolver leaves the names out.
  IgnoredNames: ['message'],
  Instance: ['role', 'version'],
  InvalidRequestError: ['message'],
  Job: ['cancelledBy', 'idempotencyKey'],
  LimitReachedError: ['message'],
  Me: ['label'],
  Member: ['email', 'issuer', 'name', 'subject'],
  MonthUsage: ['month'],
  NotFoundError: ['message'],
  PageInfo: ['endCursor', 'startCursor'],
  Person: ['email', 'name'],
  Plan: ['name'],
  Query: ['addressWarning', 'queueTags'],
  Queue: ['addressWarning', 'name', 'tags', 'webhookUrl'],
  QueueOutcome: ['name'],
  QueuePause: ['by'],
  QueueTemplate: ['name'],
  QueueTunnel: ['openedBy'],
  QueueUsage: ['queueName'],
  Receiver: ['host'],
  // One of Jobferry's own errors, and a code of Node.
  ReceiverCheck: ['error', 'errorCode'],
  // Besides Jobferry's own sentences, only the address to which a receiver redirects.
  ReceiverFinding: ['advice', 'name', 'text'],
  ReleaseRun: ['before', 'version'],
  RestoreErrorGroupPayload: ['fingerprint'],
  RotateAlertRuleSecretPayload: ['signingSecret'],
  RotateSigningSecretPayload: ['signingSecret'],
  // The resolver of `query` withholds conditions on payloads.
  SavedView: ['createdBy', 'name', 'query'],
  Server: ['environment', 'templates', 'version'],
  Session: ['label', 'userAgent'],
  // Names of sessions of the database, which only the operator's account receives.
  SnapshotHolder: ['message', 'name', 'program', 'state', 'user'],
  UnavailableError: ['message'],
  Usage: ['month'],
  ValidationError: ['formErrors', 'message'],
  // Its resolver leaves out what a receiver wrote.
  Waiting: ['message'],
};

/** Errors: visible if the text is one of Jobferry's own, hidden if a receiver wrote it. */
export const ERROR_FIELDS: ReadonlySet<string> = new Set([
  'Attempt.error',
  'DeadLetter.error',
  'ErrorGroup.error',
  'Job.lastError',
  'LastFailure.error',
]);

/** Stored filters: visible without their conditions on payloads and errors. */
export const FILTER_FIELDS: ReadonlySet<string> = new Set([
  'AuditEntry.after',
  'AuditEntry.before',
  'BulkAction.selection',
]);

/**
 * Fields that are refused as a whole: they return nothing but parts of payloads,
 * or are about deliveries that a client has seen.
 */
export const PAYLOAD_FIELDS: ReadonlySet<string> = new Set([
  'Mutation.answerTunnel',
  'Query.payloadPaths',
  'Query.payloadValues',
]);

/** Arguments and input fields by the name of the field or input type. */
export const PLAIN_INPUTS: Readonly<Record<string, readonly string[]>> = {
  AlertEmailInput: ['to'],
  AlertPagerDutyInput: ['routingKey'],
  AlertWebhookInput: ['url'],
  CreateAlertRuleInput: ['webhookUrl'],
  CreateQueueInput: ['name', 'signingSecret', 'tags', 'template', 'webhookUrl'],
  DeadLetterFilter: ['fingerprints', 'receivers'],
  JobFilter: ['idempotencyKey', 'idempotencyKeyContains', 'queueNames', 'queueTags', 'receivers'],
  'Mutation.createApiKey': ['name', 'queues'],
  'Mutation.deferJob': ['reason'],
  'Mutation.dismissErrorGroup': ['fingerprint'],
  // The client that sends a test payload knows it.
  'Mutation.examineReceiver': ['payload'],
  'Mutation.extendAck': ['progress'],
  'Mutation.nackJob': ['reason'],
  'Mutation.publishJob': ['queue'],
  'Mutation.restoreErrorGroup': ['fingerprint'],
  // The client that publishes a payload knows it.
  PublishInput: ['idempotencyKey', 'payload', 'payloadText'],
  PublishJobsInput: ['queue'],
  'Query.addressWarning': ['webhookUrl'],
  'Query.auditLog': ['action', 'actor'],
  'Query.queue': ['name'],
  'Query.queues': ['receivers', 'search', 'tags'],
  'Query.queueTags': ['search'],
  'Query.receiver': ['host'],
  'Query.receivers': ['after', 'search'],
  QueueChoice: ['names', 'receiver'],
  // The client that saves a view knows its conditions.
  SaveViewInput: ['name', 'query'],
  UpdateAlertRuleInput: ['webhookUrl'],
  UpdateQueueInput: ['tags', 'webhookUrl'],
  'Usage.byQueue': ['month'],
};
