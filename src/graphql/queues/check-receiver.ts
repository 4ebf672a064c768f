import { type CheckOfReceiver, SIGNATURE_VERDICTS } from '../../domain/receiver-check.ts';
import { type ExaminationFinding, FINDING_STATUSES, TEST_PAYLOAD } from '../../domain/receiver-examination.ts';
import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { ConflictError, NotFoundError, ValidationError } from '../errors.ts';
import { idOf, refusing } from '../input.ts';
import { PRICE } from '../prices.ts';

const SignatureVerdict = enumOf(
  'SignatureVerdict',
  'Verdict of a receiver’s answer on the signature. `ACCEPTED`: a 2xx answer; a receiver that does not verify signatures sends it, too. `REJECTED`: a 401 answer. `UNKNOWN`: any other answer, or none.',
  SIGNATURE_VERDICTS,
);

const ReceiverCheck = builder.objectRef<CheckOfReceiver>('ReceiverCheck').implement({
  description: 'The answer of a receiver to a test request.',
  fields: (t) => ({
    sentAt: t.expose('sentAt', { type: 'DateTime', description: 'Time of the request.' }),
    webhookStatusCode: t.exposeInt('webhookStatusCode', {
      nullable: true,
      description: 'Status code of the answer; null if the webhook did not answer.',
    }),
    durationMs: t.exposeInt('durationMs', { description: 'Duration of the request in milliseconds.' }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Short, stable text of the error, as in `Attempt.error`; null after a 2xx answer.',
    }),
    errorCode: t.exposeString('errorCode', {
      nullable: true,
      description:
        'Why the certificate of the receiver was not accepted, such as `CERT_HAS_EXPIRED`; null for other errors.',
    }),
    responseBody: t.exposeString('responseBody', {
      nullable: true,
      description: 'First 4 KiB of the body of the answer; null if the webhook did not answer.',
    }),
    certificateEndsAt: t.expose('certificateEndsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the certificate of the receiver ends; null without TLS or without an answer.',
    }),
    signature: t.field({
      type: SignatureVerdict,
      description: 'Verdict on the signature.',
      resolve: ({ signature }) => signature,
    }),
  }),
});

const CheckReceiverPayload = builder.objectRef<{ check: CheckOfReceiver }>('CheckReceiverPayload').implement({
  description: 'The result of a test request.',
  fields: (t) => ({
    check: t.field({ type: ReceiverCheck, description: 'The answer of the receiver.', resolve: ({ check }) => check }),
  }),
});

const FindingStatus = enumOf(
  'ReceiverFindingStatus',
  'Verdict on a part of a receiver. `OK`: as it should be. `WARNING`: it works, and could fail. `FAILED`: it has to be changed. `SKIPPED`: nothing can be seen.',
  FINDING_STATUSES,
);

const ReceiverFinding = builder.objectRef<ExaminationFinding>('ReceiverFinding').implement({
  description: 'The verdict on a part of a receiver.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the part, such as `wrong signature`.' }),
    status: t.field({ type: FindingStatus, description: 'The verdict.', resolve: ({ status }) => status }),
    text: t.exposeString('text', { description: 'The observation.' }),
    advice: t.exposeString('advice', { nullable: true, description: 'A change that fixes it; null if it needs none.' }),
  }),
});

const ExamineReceiverPayload = builder
  .objectRef<{ findings: ExaminationFinding[] }>('ExamineReceiverPayload')
  .implement({
    description: 'The result of an examination.',
    fields: (t) => ({
      findings: t.field({
        type: [ReceiverFinding],
        description: 'The verdicts, in the order of the requests.',
        resolve: ({ findings }) => findings,
      }),
    }),
  });

builder.mutationFields((t) => ({
  examineReceiver: t.field({
    type: ExamineReceiverPayload,
    complexity: PRICE.receiverExamination,
    description:
      'Sends up to thirty test requests to the webhook of a queue, and checks the answers. The requests have a valid, wrong or missing signature, a changed body, numbers and duplicate keys, a body of 1 MiB or a repeated id; some are sent at the same time. They are not jobs, but a receiver that accepts the payload may do its work each time. No request is sent after a minute, or after the client has disconnected. At most three per minute and account, and five checks or examinations at once.',
    errors: { types: [ValidationError, NotFoundError, ConflictError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Id of the queue.' }),
      payload: t.arg.string({
        defaultValue: TEST_PAYLOAD,
        required: true,
        description: 'Source text of a JSON object that the receiver takes.',
      }),
    },
    resolve: (_root, { queueId: id, payload }, { services, account, signal }) =>
      refusing(async () => ({
        findings: await services.queues.examineReceiver(account, idOf(id, 'queue'), payload, signal),
      })),
  }),
  checkReceiver: t.field({
    type: CheckReceiverPayload,
    complexity: PRICE.receiverCheck,
    description:
      'Sends one signed test request to the webhook of a queue, with the address checks and the time limit of a delivery, and waits for the answer. Its envelope has the payload `{"jobferry":"check"}` and an id that no job has. It is not a job: it counts neither as an attempt nor in statistics, and pause, hold, concurrency and rate limit do not apply. The request ends when the client has left. At most 10 a minute and account, and five checks or examinations at once.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { queueId: t.arg.id({ required: true, description: 'Id of the queue.' }) },
    resolve: (_root, { queueId: id }, { services, account, signal }) =>
      refusing(async () => ({ check: await services.queues.checkReceiver(account, idOf(id, 'queue'), signal) })),
  }),
}));
